"""Right answers to the exercises of chapter 07 in other styles than the reference."""

import math

import torch

from tests.exercises.right_ways_ch07_alibi import RIGHT_WAYS_ALIBI
from tests.exercises.right_ways_ch07_relative import RIGHT_WAYS_RELATIVE
from tests.exercises.right_ways_ch07_rope import RIGHT_WAYS_ROPE

# is_permutation_equivariant


def equivariant_by_allclose(layer, x, permutation):
    return torch.allclose(layer(x[:, permutation]), layer(x)[:, permutation], atol=1e-6)


def equivariant_by_undoing(layer, x, permutation):
    back = torch.argsort(permutation)
    return bool(torch.isclose(layer(x[:, permutation, :])[:, back], layer(x), atol=1e-5).all())


def equivariant_by_assert_close(layer, x, permutation):
    shuffled = torch.index_select(x, 1, permutation)
    try:
        torch.testing.assert_close(layer(shuffled), layer(x).index_select(1, permutation))
    except AssertionError:
        return False
    return True


def equivariant_by_largest_difference(layer, x, permutation):
    difference = layer(x[:, permutation]) - layer(x)[:, permutation]
    return (difference.abs().max() < 1e-5).item()


def equivariant_by_a_matrix(layer, x, permutation):
    P = torch.eye(len(permutation), dtype=x.dtype)[permutation]
    return torch.allclose(layer(P @ x), P @ layer(x), rtol=1e-4, atol=1e-6)


def equivariant_by_loops(layer, x, permutation):
    got, out = layer(torch.stack([x[:, int(p)] for p in permutation], dim=1)), layer(x)
    return all(
        torch.allclose(got[b, i], out[b, int(p)], rtol=1e-3, atol=1e-5)
        for b in range(x.shape[0])
        for i, p in enumerate(permutation)
    )


# sinusoidal_encoding


def sinusoids_as_in_the_tutorial(num_positions, d_model, base=10000.0):
    position = torch.arange(num_positions).unsqueeze(1)
    div_term = torch.exp(torch.arange(0, d_model, 2) * (-math.log(base) / d_model))
    pe = torch.zeros(num_positions, d_model)
    pe[:, 0::2] = torch.sin(position * div_term)
    pe[:, 1::2] = torch.cos(position * div_term)
    return pe


def sinusoids_by_loops(num_positions, d_model, base=10000.0):
    rows = []
    for p in range(num_positions):
        row = []
        for i in range(d_model // 2):
            angle = p / base ** (2 * i / d_model)
            row += [math.sin(angle), math.cos(angle)]
        rows.append(row)
    return torch.tensor(rows)


def sinusoids_by_phase(num_positions, d_model, base=10000.0):
    """A cosine is a sine a quarter turn ahead."""
    k = torch.arange(d_model, dtype=torch.float64)
    rate = float(base) ** (-(k - k % 2) / d_model)
    return torch.sin(torch.arange(num_positions)[:, None] * rate + (k % 2) * math.pi / 2).float()


def sinusoids_by_complex_powers(num_positions, d_model, base=10000.0):
    rate = torch.logspace(0, -1, d_model // 2 + 1, base=base, dtype=torch.float64)[:-1]
    wave = torch.exp(1j * torch.outer(torch.arange(num_positions, dtype=torch.float64), rate))
    return torch.stack((wave.imag, wave.real), dim=-1).flatten(1).to(torch.get_default_dtype())


def sinusoids_by_where(num_positions, d_model, base=10000.0):
    feature = torch.arange(d_model)
    angle = torch.arange(num_positions).float()[:, None] / base ** (2 * (feature // 2) / d_model)
    return torch.where(feature % 2 == 0, torch.sin(angle), torch.cos(angle))


# shift_matrix


def shift_by_loop(offset, d_model, base=10000.0):
    M = torch.zeros(d_model, d_model)
    for i in range(0, d_model, 2):
        a = offset / base ** (i / d_model)
        M[i, i] = M[i + 1, i + 1] = math.cos(a)
        M[i + 1, i], M[i, i + 1] = math.sin(a), -math.sin(a)
    return M


def shift_by_strides(offset, d_model, base=10000.0):
    angle = offset * base ** (-torch.arange(0, d_model, 2) / d_model)
    M = torch.diag(angle.cos().repeat_interleave(2))
    even = torch.arange(0, d_model, 2)
    M[even + 1, even] = angle.sin()
    M[even, even + 1] = -angle.sin()
    return M


def shift_by_exponential(offset, d_model, base=10000.0):
    turn = torch.tensor([[0.0, -1.0], [1.0, 0.0]], dtype=torch.float64)
    rates = [float(base) ** (-2 * i / d_model) for i in range(d_model // 2)]
    return torch.matrix_exp(offset * torch.block_diag(*[rate * turn for rate in rates])).float()


def shift_by_diagonals(offset, d_model, base=10000.0):
    angle = torch.tensor([offset / base ** (2 * i / d_model) for i in range(d_model // 2)])
    beside = torch.stack((angle.sin(), torch.zeros_like(angle)), -1).flatten()[:-1]
    return (
        torch.diag(angle.cos().repeat_interleave(2))
        + torch.diag(beside, -1)
        - torch.diag(beside, 1)
    )


# interpolate_positions


def interpolated_by_min(positions, trained_length, target_length):
    return positions * min(1.0, trained_length / target_length)


def interpolated_by_branches(positions, trained_length, target_length):
    if target_length <= trained_length:
        return positions
    return positions * trained_length / target_length


def interpolated_in_default_dtype(positions, trained_length, target_length):
    real = positions if positions.is_floating_point() else positions.float()
    return real / max(1, target_length / trained_length)


def interpolated_by_where(positions, trained_length, target_length):
    longer = torch.tensor(target_length > trained_length)
    return torch.where(longer, positions * (trained_length / target_length), positions * 1.0)


def interpolated_in_float64(positions, trained_length, target_length):
    wide = positions.to(torch.float64)
    out = wide * trained_length / target_length if target_length > trained_length else wide
    return out.to(positions.dtype) if positions.is_floating_point() else out


RIGHT_WAYS_CH07 = {
    **RIGHT_WAYS_ROPE,
    **RIGHT_WAYS_RELATIVE,
    **RIGHT_WAYS_ALIBI,
    "is_permutation_equivariant": (
        equivariant_by_allclose,
        equivariant_by_undoing,
        equivariant_by_assert_close,
        equivariant_by_largest_difference,
        equivariant_by_a_matrix,
        equivariant_by_loops,
    ),
    "sinusoidal_encoding": (
        sinusoids_as_in_the_tutorial,
        sinusoids_by_loops,
        sinusoids_by_phase,
        sinusoids_by_complex_powers,
        sinusoids_by_where,
    ),
    "shift_matrix": (
        shift_by_loop,
        shift_by_strides,
        shift_by_exponential,
        shift_by_diagonals,
    ),
    "interpolate_positions": (
        interpolated_by_min,
        interpolated_by_branches,
        interpolated_in_default_dtype,
        interpolated_by_where,
        interpolated_in_float64,
    ),
}
