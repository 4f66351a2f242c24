"""Right answers to the exercises on RoPE in other styles than the reference."""

import math

import torch
import torch.nn.functional as F


def _per_head(table, positions):
    return table[:, None] if positions.dim() == 2 else table


# rope_interleaved


def interleaved_by_complex_numbers(x, positions, base=10000.0):
    """Llama's own code: pairs as complex numbers, in float32."""
    freqs = 1.0 / (base ** (torch.arange(0, x.shape[-1], 2).float() / x.shape[-1]))
    angles = positions.float().unsqueeze(-1) * freqs
    turned = _per_head(torch.polar(torch.ones_like(angles), angles), positions)
    pairs = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
    return torch.view_as_real(pairs * turned).flatten(-2).type_as(x)


def interleaved_written_in_place(x, positions, base=10000.0):
    d = x.shape[-1]
    theta = base ** (-torch.arange(0, d, 2) / d)
    angles = _per_head(positions[..., None] * theta, positions)
    cos, sin = torch.cos(angles).to(x.dtype), torch.sin(angles).to(x.dtype)
    out = torch.empty_like(x)
    out[..., ::2] = x[..., ::2] * cos - x[..., 1::2] * sin
    out[..., 1::2] = x[..., ::2] * sin + x[..., 1::2] * cos
    return out


def interleaved_by_full_tables(x, positions, base=10000.0):
    d = x.shape[-1]
    inv_freq = torch.exp(-math.log(base) * torch.arange(0, d, 2).double() / d)
    angles = torch.einsum("...l,i->...li", positions.double(), inv_freq)
    angles = _per_head(angles.repeat_interleave(2, dim=-1), positions)
    swapped = torch.stack((-x[..., 1::2], x[..., ::2]), dim=-1).reshape(x.shape)
    return x * angles.cos().to(x.dtype) + swapped * angles.sin().to(x.dtype)


def interleaved_by_matrices(x, positions, base=10000.0):
    d = x.shape[-1]
    rows = positions.expand(x.shape[0], x.shape[2])
    out = []
    for sequence, places in zip(x, rows, strict=True):
        tokens = []
        for t, place in enumerate(places.tolist()):
            blocks = []
            for i in range(d // 2):
                a = place * base ** (-2 * i / d)
                blocks.append(
                    torch.tensor([[math.cos(a), -math.sin(a)], [math.sin(a), math.cos(a)]])
                )
            tokens.append(sequence[:, t] @ torch.block_diag(*blocks).to(x.dtype).T)
        out.append(torch.stack(tokens, dim=1))
    return torch.stack(out)


def interleaved_pair_by_pair(x, positions, base=10000.0):
    d = x.shape[-1]
    place = positions.to(torch.float64)
    place = place.view(-1, 1, positions.shape[-1]) if positions.ndim == 2 else place
    features = []
    for i in range(d // 2):
        angle = place / float(base) ** (2 * i / d)
        u, v = x[..., 2 * i], x[..., 2 * i + 1]
        cos, sin = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
        features += [u * cos - v * sin, u * sin + v * cos]
    return torch.stack(features, dim=-1)


def interleaved_from_a_table(x, positions, base=10000.0):
    """Look whole positions up in a table; compute the others."""
    if positions.is_floating_point() or positions.min() < 0:
        return interleaved_by_full_tables(x, positions, base)
    d = x.shape[-1]
    every = torch.arange(int(positions.max()) + 1).float()
    table = torch.outer(every, 1 / base ** (torch.arange(0, d, 2) / d))
    angles = _per_head(table[positions], positions)
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    even, odd = x.unflatten(-1, (-1, 2)).unbind(-1)
    return torch.stack((even * cos - odd * sin, odd * cos + even * sin), -1).flatten(-2)


def interleaved_through_float32(x, positions, base=10000.0):
    return interleaved_by_full_tables(x.float(), positions, base).to(x.dtype)


# rope_split_halves


def rotate_half(x):
    first, second = x.chunk(2, dim=-1)
    return torch.cat((-second, first), dim=-1)


def halves_as_in_llama(x, positions, base=10000.0):
    inv_freq = 1.0 / (base ** (torch.arange(0, x.shape[-1], 2, dtype=torch.float) / x.shape[-1]))
    freqs = positions[..., None].float() * inv_freq
    emb = torch.cat((freqs, freqs), dim=-1)
    cos, sin = _per_head(emb.cos(), positions), _per_head(emb.sin(), positions)
    return (x * cos.to(x.dtype)) + (rotate_half(x) * sin.to(x.dtype))


def halves_by_the_other_pairing(x, positions, base=10000.0):
    woven = torch.stack(x.chunk(2, -1), -1).flatten(-2)
    turned = interleaved_pair_by_pair(woven, positions, base)
    return torch.cat((turned[..., 0::2], turned[..., 1::2]), dim=-1)


def halves_by_a_new_axis(x, positions, base=10000.0):
    u, v = x.unflatten(-1, (2, -1)).unbind(-2)
    theta = torch.pow(torch.tensor(float(base)), -torch.linspace(0, 1, u.shape[-1] + 1)[:-1])
    angle = (positions.unsqueeze(1) if positions.ndim > 1 else positions)[..., None] * theta
    c, s = angle.cos().to(x), angle.sin().to(x)
    return torch.stack((u * c - v * s, u * s + v * c), dim=-2).flatten(-2)


def halves_by_complex_numbers(x, positions, base=10000.0):
    half = x.shape[-1] // 2
    z = torch.complex(x[..., :half].double(), x[..., half:].double())
    theta = float(base) ** (-torch.arange(half).double() / half)
    turned = z * torch.exp(1j * _per_head(positions.double()[..., None] * theta, positions))
    return torch.cat((turned.real, turned.imag), dim=-1).to(x.dtype)


def halves_sequence_by_sequence(x, positions, base=10000.0):
    rows = positions if positions.dim() == 2 else positions.repeat(len(x), 1)
    half = x.shape[-1] // 2
    theta = base ** -(torch.arange(half, dtype=torch.float64) / half)
    out = torch.zeros_like(x)
    for b in range(len(x)):
        angle = torch.outer(rows[b].double(), theta)
        cos, sin = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
        out[b, :, :, :half] = x[b, :, :, :half] * cos - x[b, :, :, half:] * sin
        out[b, :, :, half:] = x[b, :, :, half:] * cos + x[b, :, :, :half] * sin
    return out


# rope_interleaved_attention


def attention_by_sdpa(q, k, v, at, of, base=10000.0):
    q, k = interleaved_written_in_place(q, at, base), interleaved_written_in_place(k, of, base)
    return F.scaled_dot_product_attention(q, k, v)


def attention_by_einsum(q, k, v, at, of, base=10000.0):
    q, k = interleaved_by_full_tables(q, at, base), interleaved_by_full_tables(k, of, base)
    scores = torch.einsum("bhld,bhsd->bhls", q, k) / math.sqrt(q.shape[-1])
    return torch.einsum("bhls,bhsv->bhlv", scores.softmax(-1), v)


def attention_by_the_other_pairing(q, k, v, at, of, base=10000.0):
    """Scores do not care for the order of the features, if both have the same."""
    q, k = (torch.cat((x[..., 0::2], x[..., 1::2]), dim=-1) for x in (q, k))
    q, k = halves_as_in_llama(q, at, base), halves_as_in_llama(k, of, base)
    return torch.softmax(q @ k.transpose(-2, -1) * q.shape[-1] ** -0.5, dim=-1) @ v


def attention_relative_to_the_first_key(q, k, v, at, of, base=10000.0):
    """Only distances count, so a constant may be taken away from all positions."""
    start = of[..., :1]
    return attention_by_sdpa(q, k, v, at - start, of - start, base)


RIGHT_WAYS_ROPE = {
    "rope_interleaved": (
        interleaved_by_complex_numbers,
        interleaved_written_in_place,
        interleaved_by_full_tables,
        interleaved_by_matrices,
        interleaved_pair_by_pair,
        interleaved_from_a_table,
        interleaved_through_float32,
    ),
    "rope_split_halves": (
        halves_as_in_llama,
        halves_by_the_other_pairing,
        halves_by_a_new_axis,
        halves_by_complex_numbers,
        halves_sequence_by_sequence,
    ),
    "rope_interleaved_attention": (
        attention_by_sdpa,
        attention_by_einsum,
        attention_by_the_other_pairing,
        attention_relative_to_the_first_key,
    ),
}
