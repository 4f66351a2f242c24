"""Right answers to the exercises of chapter 07 in other styles than the reference."""

import math

import numpy as np
import torch
import torch.nn.functional as F

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
    position = torch.arange(num_positions, dtype=torch.float64).unsqueeze(1)
    div_term = torch.exp(torch.arange(0, d_model, 2).double() * (-math.log(base) / d_model))
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
    feature = torch.arange(d_model, dtype=torch.float64)
    angle = torch.arange(num_positions).double()[:, None] / base ** (2 * (feature // 2) / d_model)
    return torch.where(feature % 2 == 0, torch.sin(angle), torch.cos(angle)).float()


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


# shaw_scores


def shaw_by_gather(query, key, relative_embedding, max_distance, scale=None):
    L, S = query.shape[-2], key.shape[-2]
    steps = torch.arange(S)[None, :] - torch.arange(L)[:, None]
    row = steps.clamp(-max_distance, max_distance) + max_distance
    met = torch.einsum("bhld,rd->bhlr", query, relative_embedding)
    relative = torch.gather(met, 3, row.expand(query.size(0), query.size(1), L, S))
    both = torch.einsum("bhld,bhsd->bhls", query, key) + relative
    return both * (1 / math.sqrt(query.shape[-1]) if scale is None else scale)


def shaw_distance_by_distance(query, key, relative_embedding, max_distance, scale=None):
    """Add what each vector says, once, to all pairs that share it."""
    j, i = torch.arange(key.size(2)), torch.arange(query.size(2)).unsqueeze(1)
    index = torch.clamp(j - i, min=-max_distance, max=max_distance) + max_distance
    scores = query @ key.mT
    for row, vector in enumerate(relative_embedding):
        scores = scores + (query @ vector).unsqueeze(-1) * (index == row)
    return scores * (query.size(-1) ** -0.5 if scale is None else scale)


def shaw_query_by_query(q, k, table, reach, scale=None):
    factor = q.shape[-1] ** -0.5 if scale is None else scale
    rows = []
    for i in range(q.shape[-2]):
        index = [max(-reach, min(reach, j - i)) + reach for j in range(k.shape[-2])]
        rows.append((q[..., i : i + 1, :] * (k + table[index])).sum(-1) * factor)
    return torch.stack(rows, dim=-2)


def shaw_by_take_along(q, k, table, reach, scale=None):
    met = torch.matmul(q, table.transpose(0, 1))
    steps = torch.arange(k.shape[2]).view(1, -1) - torch.arange(q.shape[2]).view(-1, 1)
    index = (steps + reach).clamp(0, 2 * reach).expand(*q.shape[:2], -1, -1)
    both = q @ k.transpose(-2, -1) + torch.take_along_dim(met, index, dim=-1)
    return both / math.sqrt(q.shape[-1]) if scale is None else both * scale


def shaw_diagonal_by_diagonal(q, k, table, reach, scale=None):
    scores, met = q @ k.mT, q @ table.mT
    rows, columns = scores.shape[-2:]
    extra = torch.zeros_like(scores)
    for step in range(1 - rows, columns):
        i = torch.arange(max(0, -step), min(rows, columns - step))
        extra[:, :, i, i + step] = met[:, :, i, max(-reach, min(reach, step)) + reach]
    scale = 1 / q.shape[-1] ** 0.5 if scale is None else scale
    return scale * (scores + extra)


# t5_bucket


def bucket_as_in_t5(relative_position, num_buckets, max_distance, bidirectional):
    ret = 0
    n = -relative_position
    if bidirectional:
        num_buckets //= 2
        ret += (n < 0).to(torch.long) * num_buckets
        n = torch.abs(n)
    else:
        n = torch.max(n, torch.zeros_like(n))
    max_exact = num_buckets // 2
    is_small = n < max_exact
    val_if_large = max_exact + (
        torch.log(n.float() / max_exact)
        / math.log(max_distance / max_exact)
        * (num_buckets - max_exact)
    ).to(torch.long)
    val_if_large = torch.min(val_if_large, torch.full_like(val_if_large, num_buckets - 1))
    ret += torch.where(is_small, n, val_if_large)
    return ret


def bucket_one_by_one(relative_position, num_buckets, max_distance, bidirectional):
    def one(step):
        size = num_buckets // 2 if bidirectional else num_buckets
        start = size if bidirectional and step > 0 else 0
        distance = abs(step) if bidirectional else max(-step, 0)
        exact = size // 2
        if distance < exact:
            return start + distance
        share = math.log(distance / exact) / math.log(max_distance / exact)
        return start + min(exact + int(share * (size - exact)), size - 1)

    flat = [one(int(step)) for step in relative_position.flatten()]
    return torch.tensor(flat).reshape(relative_position.shape)


def bucket_by_thresholds(steps, num_buckets, max_distance, bidirectional):
    size = num_buckets // 2 if bidirectional else num_buckets
    exact = size // 2
    wide = size - exact
    starts = exact * (max_distance / exact) ** (torch.arange(1, wide).double() / wide)
    distance = steps.abs() if bidirectional else steps.neg().clamp(min=0)
    far = exact + torch.bucketize(distance.double(), starts, right=True)
    out = torch.where(distance < exact, distance, far)
    return out + size * (steps > 0) if bidirectional else out


def bucket_by_log2(steps, num_buckets, max_distance, bidirectional):
    if bidirectional:
        half = num_buckets // 2
        late = (steps > 0).long() * half
        return late + bucket_by_log2(-steps.abs(), half, max_distance, False)
    exact = num_buckets // 2
    distance = torch.relu(-steps)
    ratio = torch.log2(distance.clamp(min=exact) / exact) / math.log2(max_distance / exact)
    far = (exact + torch.floor(ratio * (num_buckets - exact))).long().clamp(max=num_buckets - 1)
    return torch.where(distance >= exact, far, distance)


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


def interleaved_rounded_once(x, positions, base=10000.0):
    """Angles, cosines and products in float32, the result in x's dtype."""
    rate = 1.0 / base ** (torch.arange(0, x.shape[-1], 2, dtype=torch.float32) / x.shape[-1])
    angles = _per_head(positions.float()[..., None] * rate, positions)
    u, v = x[..., 0::2].float(), x[..., 1::2].float()
    pair = (u * angles.cos() - v * angles.sin(), u * angles.sin() + v * angles.cos())
    return torch.stack(pair, dim=-1).flatten(-2).to(x.dtype)


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


def attention_with_one_division(q, k, v, at, of, base=10000.0):
    """Divide by the row's sum after the values were added up; the gradient passes the maximum."""
    q, k = interleaved_pair_by_pair(q, at, base), interleaved_pair_by_pair(k, of, base)
    scores = q @ k.mT / math.sqrt(k.shape[-1])
    powers = (scores - scores.amax(-1, keepdim=True)).exp()
    return powers @ v / powers.sum(-1, keepdim=True)


# alibi_slopes


def slopes_as_in_bloom(num_heads):
    closest = 2 ** math.floor(math.log2(num_heads))
    base = torch.tensor(2 ** (-(2 ** -(math.log2(closest) - 3))), dtype=torch.float32)
    slopes = torch.pow(base, torch.arange(1, 1 + closest))
    if closest != num_heads:
        extra = torch.tensor(2 ** (-(2 ** -(math.log2(2 * closest) - 3))), dtype=torch.float32)
        count = min(closest, num_heads - closest)
        slopes = torch.cat([slopes, torch.pow(extra, torch.arange(1, 1 + 2 * count, 2))])
    return slopes


def slopes_by_recursion(num_heads):
    def power_of_two(n):
        start = 2 ** (-(2 ** -(math.log2(n) - 3)))
        return [start * start**i for i in range(n)]

    def get(n):
        if math.log2(n).is_integer():
            return power_of_two(n)
        closest = 2 ** math.floor(math.log2(n))
        return power_of_two(closest) + get(2 * closest)[0::2][: n - closest]

    return torch.tensor(get(num_heads))


def slopes_by_exponents(num_heads):
    n = 1
    while 2 * n <= num_heads:
        n *= 2
    exponents = [8 * h / n for h in range(1, n + 1)]
    exponents += [8 * (2 * i + 1) / (2 * n) for i in range(num_heads - n)]
    return 2 ** -torch.tensor(exponents)


def slopes_by_logspace(num_heads):
    n = 1 << (num_heads.bit_length() - 1)
    first = torch.logspace(-8 / n, -8, n, base=2.0)
    return torch.cat((first, torch.logspace(-4 / n, 4 / n - 8, n, base=2.0)[: num_heads - n]))


# alibi_bias


def bias_with_the_future_hidden(num_heads, num_queries, num_keys):
    own = torch.arange(num_keys - num_queries, num_keys)
    distance = own[:, None] - torch.arange(num_keys)[None, :]
    bias = -slopes_by_exponents(num_heads).view(-1, 1, 1) * distance
    return bias.masked_fill(distance < 0, -torch.inf)


def bias_by_loops(num_heads, num_queries, num_keys):
    out = torch.zeros(num_heads, num_queries, num_keys)
    slopes = slopes_as_in_bloom(num_heads)
    for h in range(num_heads):
        for i in range(num_queries):
            for j in range(num_keys):
                out[h, i, j] = min(0, j - (i + num_keys - num_queries)) * slopes[h]
    return out


def bias_by_einsum(num_heads, num_queries, num_keys):
    steps = torch.arange(num_keys).float() - torch.arange(num_keys).float().unsqueeze(1)
    steps = steps[-num_queries:] if num_queries <= num_keys else None
    if steps is None:
        return bias_by_loops(num_heads, num_queries, num_keys)
    return torch.einsum("h,ls->hls", slopes_by_recursion(num_heads), steps)


def bias_of_distances_both_ways(num_heads, num_queries, num_keys):
    rows = torch.arange(num_queries).unsqueeze(-1) + (num_keys - num_queries)
    return slopes_by_exponents(num_heads)[:, None, None] * -(rows - torch.arange(num_keys)).abs()


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


def interpolated_whole_ones_in_float64(positions, trained_length, target_length):
    wide = positions if positions.is_floating_point() else positions.double()
    return wide * min(1.0, trained_length / target_length)


def interpolated_in_float64(positions, trained_length, target_length):
    wide = positions.to(torch.float64)
    out = wide * trained_length / target_length if target_length > trained_length else wide
    return out.to(positions.dtype) if positions.is_floating_point() else out


def interpolated_one_by_one(positions, trained_length, target_length):
    factor = min(1, trained_length / target_length)
    real = positions.dtype if positions.is_floating_point() else torch.float64
    flat = [float(place) * factor for place in positions.flatten()]
    return torch.tensor(flat, dtype=real).reshape(positions.shape)


def interpolated_by_numpy(positions, trained_length, target_length):
    ratio = trained_length / max(trained_length, target_length)
    real = torch.from_numpy(np.asarray(positions.double().numpy() * ratio))
    return real.to(positions.dtype) if positions.is_floating_point() else real


# llama3_frequencies


def llama3_as_in_transformers(
    frequencies, factor, low_freq_factor, high_freq_factor, trained_length
):
    wavelen = 2 * math.pi / frequencies
    low_wavelen, high_wavelen = trained_length / low_freq_factor, trained_length / high_freq_factor
    new = torch.where(wavelen > low_wavelen, frequencies / factor, frequencies)
    smooth = (trained_length / wavelen - low_freq_factor) / (high_freq_factor - low_freq_factor)
    smoothed = (1 - smooth) * new / factor + smooth * new
    medium = ~(wavelen < high_wavelen) * ~(wavelen > low_wavelen)
    return torch.where(medium, smoothed, new)


def llama3_by_a_clamp(frequencies, factor, low_freq_factor, high_freq_factor, trained_length):
    turns = trained_length * frequencies / (2 * torch.pi)
    share = ((turns - low_freq_factor) / (high_freq_factor - low_freq_factor)).clamp(0, 1)
    return torch.lerp(frequencies / factor, frequencies, share)


def llama3_as_in_llama(frequencies, factor, low_freq_factor, high_freq_factor, trained_length):
    new = []
    for freq in frequencies.flatten():
        wavelength = 2 * math.pi / freq
        if wavelength < trained_length / high_freq_factor:
            new.append(freq)
        elif wavelength > trained_length / low_freq_factor:
            new.append(freq / factor)
        else:
            smooth = (trained_length / wavelength - low_freq_factor) / (
                high_freq_factor - low_freq_factor
            )
            new.append((1 - smooth) * freq / factor + smooth * freq)
    return torch.stack(new).view(frequencies.shape)


def llama3_written_into_a_copy(
    frequencies, factor, low_freq_factor, high_freq_factor, trained_length
):
    turns = trained_length / (2 * math.pi / frequencies)
    out = frequencies.clone()
    slow, between = (
        turns < low_freq_factor,
        (turns >= low_freq_factor) & (turns <= high_freq_factor),
    )
    out[slow] = frequencies[slow] / factor
    s = (turns[between] - low_freq_factor) / (high_freq_factor - low_freq_factor)
    out[between] = (1 - s) * frequencies[between] / factor + s * frequencies[between]
    return out


def llama3_by_masks_as_numbers(
    frequencies, factor, low_freq_factor, high_freq_factor, trained_length
):
    turns = frequencies.mul(trained_length).div(2 * math.pi)
    fast = (turns > high_freq_factor).to(frequencies.dtype)
    slow = (turns < low_freq_factor).to(frequencies.dtype)
    s = (turns - low_freq_factor) / (high_freq_factor - low_freq_factor)
    mixed = frequencies * (s + (1 - s) / factor)
    return fast * frequencies + slow * frequencies / factor + (1 - fast - slow) * mixed


def llama3_by_masked_fill(frequencies, factor, low_freq_factor, high_freq_factor, trained_length):
    turns = trained_length * frequencies / math.tau
    share = (turns - low_freq_factor) / (high_freq_factor - low_freq_factor)
    share = share.masked_fill(turns > high_freq_factor, 1.0).masked_fill(turns < low_freq_factor, 0)
    return frequencies / factor + share * (frequencies - frequencies / factor)


def llama3_by_minimum_and_maximum(
    frequencies, factor, low_freq_factor, high_freq_factor, trained_length
):
    span = high_freq_factor - low_freq_factor
    s = torch.relu(
        1 - torch.relu((high_freq_factor - trained_length * frequencies / math.tau) / span)
    )
    return frequencies * ((1 - s) / factor + s)


def llama3_through_float64(frequencies, factor, low_freq_factor, high_freq_factor, trained_length):
    wide = frequencies.double()
    s = (trained_length * wide / (2 * math.pi) - low_freq_factor) / (
        high_freq_factor - low_freq_factor
    )
    s = torch.minimum(torch.maximum(s, torch.zeros_like(s)), torch.ones_like(s))
    return (wide * (s + (1 - s) / factor)).to(frequencies.dtype)


def llama3_of_a_list(frequencies, factor, low_freq_factor, high_freq_factor, trained_length):
    def one(speed):
        turns = trained_length * speed / (2 * math.pi)
        if turns < low_freq_factor:
            return speed / factor
        if turns > high_freq_factor:
            return speed
        share = (turns - low_freq_factor) / (high_freq_factor - low_freq_factor)
        return (1 - share) * speed / factor + share * speed

    made = torch.tensor([one(x) for x in frequencies.flatten().tolist()], dtype=frequencies.dtype)
    return made.reshape(frequencies.shape)


def llama3_by_numpy(frequencies, factor, low_freq_factor, high_freq_factor, trained_length):
    speed = frequencies.double().numpy()
    turns = speed * trained_length / (2 * np.pi)
    share = np.interp(turns, [low_freq_factor, high_freq_factor], [0.0, 1.0])
    return torch.tensor((1 - share) * speed / factor + share * speed).to(frequencies.dtype)


RIGHT_WAYS_CH07 = {
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
        interpolated_whole_ones_in_float64,
        interpolated_in_float64,
        interpolated_one_by_one,
        interpolated_by_numpy,
    ),
    "llama3_frequencies": (
        llama3_as_in_transformers,
        llama3_by_a_clamp,
        llama3_as_in_llama,
        llama3_written_into_a_copy,
        llama3_by_masks_as_numbers,
        llama3_by_masked_fill,
        llama3_by_minimum_and_maximum,
        llama3_through_float64,
        llama3_of_a_list,
        llama3_by_numpy,
    ),
    "shaw_scores": (
        shaw_by_gather,
        shaw_distance_by_distance,
        shaw_query_by_query,
        shaw_by_take_along,
        shaw_diagonal_by_diagonal,
    ),
    "t5_bucket": (
        bucket_as_in_t5,
        bucket_one_by_one,
        bucket_by_thresholds,
        bucket_by_log2,
    ),
    "rope_interleaved": (
        interleaved_by_complex_numbers,
        interleaved_written_in_place,
        interleaved_by_full_tables,
        interleaved_by_matrices,
        interleaved_pair_by_pair,
        interleaved_from_a_table,
        interleaved_through_float32,
        interleaved_rounded_once,
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
        attention_with_one_division,
    ),
    "alibi_slopes": (
        slopes_as_in_bloom,
        slopes_by_recursion,
        slopes_by_exponents,
        slopes_by_logspace,
    ),
    "alibi_bias": (
        bias_with_the_future_hidden,
        bias_by_loops,
        bias_by_einsum,
        bias_of_distances_both_ways,
    ),
}
