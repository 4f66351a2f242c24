"""Right answers to four exercises of chapter 19 in other styles."""

import heapq
import itertools
import math
import re
import struct

import numpy as np
import torch

# dequantize_q4_1


def weights_by_struct(blocks):
    rows = []
    for block in blocks.tolist():
        d, m = struct.unpack("<ee", bytes(block[:4]))
        levels = [byte & 0xF for byte in block[4:]] + [byte >> 4 for byte in block[4:]]
        rows.append([d * level + m for level in levels])
    return torch.tensor(rows)


def weights_by_numpy(blocks):
    table = blocks.numpy()
    head = table[:, :4].copy().view("<f2").astype(np.float32)
    low, high = table[:, 4:] % 16, table[:, 4:] // 16
    return torch.from_numpy(head[:, :1] * np.hstack([low, high]) + head[:, 1:])


def weights_as_gguf(blocks):
    """As gguf-py does: both shifts at once, and the axis of the shifts before that of the bytes."""
    d, m, packed = torch.split(blocks, [2, 2, 16], dim=-1)
    d, m = (part.contiguous().view(torch.float16).to(torch.float32) for part in (d, m))
    shifts = torch.tensor([0, 4], dtype=torch.uint8).reshape(1, 2, 1)
    levels = (packed.reshape(-1, 1, 16) >> shifts) & 0x0F
    return d * levels.reshape(-1, 32).float() + m


def weights_without_a_copy(blocks):
    """Every row is in one piece, so both numbers of its head can be read where they are."""
    head = blocks[:, :4].view(torch.float16)
    out = torch.empty(len(blocks), 32)
    out[:, :16] = torch.bitwise_and(blocks[:, 4:], 15)
    out[:, 16:] = torch.bitwise_right_shift(blocks[:, 4:], 4)
    return out.mul_(head[:, 0, None].float()).add_(head[:, 1, None].float())


def weights_by_a_table_of_levels(blocks):
    """The sixteen weights that a block can have, and which of them each level means."""
    head = blocks[:, :4].contiguous().view(torch.float16).float()
    table = head[:, 1:] + head[:, :1] * torch.arange(16)
    packed = blocks[:, 4:].long()
    index = torch.cat((packed.remainder(16), packed.div(16, rounding_mode="floor")), dim=1)
    return table.gather(1, index)


def weights_from_the_bits(blocks):
    """Sign, exponent and fraction of each float16 by hand, in Python's floats."""

    def number(low, high):
        bits = low | high << 8
        sign, exponent, fraction = bits >> 15, bits >> 10 & 31, bits & 1023
        size = fraction * 2.0**-24 if exponent == 0 else (1024 + fraction) * 2.0 ** (exponent - 25)
        return -size if sign else size

    rows = torch.empty(blocks.shape[0], 32, dtype=torch.float32)
    for n, block in enumerate(blocks):
        a, b, c, e, *packed = map(int, block)
        for j, byte in enumerate(packed):
            rows[n, j] = number(a, b) * (byte % 16) + number(c, e)
            rows[n, 16 + j] = number(a, b) * (byte // 16) + number(c, e)
    return rows


def weights_by_a_fused_product(blocks):
    raw = blocks.clone()
    pairs = raw[:, 4:].to(torch.int16)
    levels = torch.stack([pairs & 15, pairs // 16], dim=1).flatten(1).double()
    d, m = raw[:, :4].contiguous().view(torch.half).double().T
    return torch.addcmul(m[:, None], d[:, None], levels).float()


# quantize_blocks


def levels_by_loops(x, bits, block):
    rows = x.reshape(-1, x.shape[-1])
    q, scale, low = [], [], []
    for row in rows.tolist():
        for start in range(0, len(row), block):
            part = row[start : start + block]
            least, most = min(part), max(part)
            step = (most - least) / (2**bits - 1) or 1.0
            if most == least:
                step = 1.0
            q += [round((one - least) / step) for one in part]
            scale.append(step)
            low.append(least)
    few = (*x.shape[:-1], x.shape[-1] // block)
    return (
        torch.tensor(q, dtype=torch.uint8).reshape(x.shape),
        torch.tensor(scale, dtype=x.dtype).reshape(few),
        torch.tensor(low, dtype=x.dtype).reshape(few),
    )


def levels_by_numpy(x, bits, block):
    parts = x.numpy().reshape(*x.shape[:-1], -1, block)
    low, high = parts.min(-1), parts.max(-1)
    scale = (high - low) / x.numpy().dtype.type(2**bits - 1)
    scale[high == low] = 1
    q = np.rint((parts - low[..., None]) / scale[..., None]).astype(np.uint8)
    return [torch.from_numpy(one) for one in (q.reshape(x.shape), scale, low)]


def levels_as_ggml(x, bits, block):
    """As ggml does: times the inverse of the scale, half added, and cut off."""
    parts = x.reshape(*x.shape[:-1], x.shape[-1] // block, block)
    low, high = torch.aminmax(parts, dim=-1)
    scale = (high - low) / ((1 << bits) - 1)
    inverse = torch.where(scale > 0, 1 / scale, torch.zeros_like(scale))
    q = ((parts - low.unsqueeze(-1)) * inverse.unsqueeze(-1) + 0.5).to(torch.uint8)
    return q.clamp(max=(1 << bits) - 1).view(x.shape), scale.masked_fill(scale == 0, 1), low


def levels_by_the_nearest(x, bits, block):
    """The number of the level that is nearest, of all levels."""
    parts = torch.stack(x.split(block, dim=-1), dim=-2)
    low = parts.min(dim=-1).values
    scale = (parts.max(dim=-1).values - low) / (2**bits - 1)
    scale = scale + (scale == 0)
    grid = torch.arange(2**bits, dtype=x.dtype)
    levels = low[..., None] + scale[..., None] * grid
    q = (parts[..., None] - levels[..., None, :]).abs().argmin(-1)
    return q.reshape(x.shape).to(torch.uint8), scale, low


def levels_by_sorting(x, bits, block):
    ordered = x.unflatten(-1, (-1, block)).sort(-1).values
    low, spread = ordered[..., 0], ordered[..., -1] - ordered[..., 0]
    scale = torch.where(spread == 0, torch.ones_like(spread), spread / (2**bits - 1))
    wide = (one.repeat_interleave(block, dim=-1) for one in (low, scale))
    q = torch.round((x - next(wide)) / next(wide))
    return q.byte(), scale, low.clone()


def levels_by_buckets(x, bits, block):
    """Count the places halfway between two levels that a number exceeds."""
    low = x.unfold(-1, block, block).amin(-1)
    scale = (x.unfold(-1, block, block).amax(-1) - low) / (2**bits - 1)
    same = scale == 0
    scale = scale.where(~same, torch.ones((), dtype=x.dtype))
    halfway = torch.arange(2**bits - 1, dtype=x.dtype) + 0.5
    place = (x.unfold(-1, block, block) - low[..., None]) / scale[..., None]
    return (place[..., None] > halfway).sum(-1).flatten(-2).to(torch.uint8), scale, low


def levels_through_float64(x, bits, block):
    wide = x.double().contiguous().view(-1, block)
    low, high = wide.amin(1, True), wide.amax(1, True)
    step = torch.where(high > low, (high - low) / (2.0**bits - 1), torch.ones_like(low))
    q = ((wide - low).div(step)).round().int()
    few = torch.Size([*x.shape[:-1], x.shape[-1] // block])
    return q.to(torch.uint8).view(x.shape), step.to(x.dtype).view(few), low.to(x.dtype).view(few)


# merge_by_rank


def symbols_as_gpt2(piece, ranks):
    """As encoder.py of GPT-2: the first part of a pair is sought, then the second behind it."""
    word = tuple(piece)
    pairs = set(itertools.pairwise(word))
    while pairs:
        pair = min(pairs, key=lambda one: ranks.get(one, float("inf")))
        if pair not in ranks:
            break
        first, second = pair
        new, i = [], 0
        while i < len(word):
            try:
                j = word.index(first, i)
            except ValueError:
                new.extend(word[i:])
                break
            new.extend(word[i:j])
            i = j
            if i < len(word) - 1 and word[i + 1] == second:
                new.append(first + second)
                i += 2
            else:
                new.append(word[i])
                i += 1
        word = tuple(new)
        pairs = set(itertools.pairwise(word))
    return list(word)


def symbols_rule_by_rule(piece, ranks):
    symbols = list(piece)
    for left, right in sorted(ranks, key=ranks.get):
        i = 0
        while i + 1 < len(symbols):
            if symbols[i] == left and symbols[i + 1] == right:
                symbols[i : i + 2] = [left + right]
            i += 1
    return symbols


def symbols_one_at_a_time(piece, ranks):
    """As minbpe and tiktoken do it: one merge, and everything is looked at again."""
    symbols = [*piece]
    while len(symbols) >= 2:
        scored = [
            (ranks.get((a, b), math.inf), i) for i, (a, b) in enumerate(itertools.pairwise(symbols))
        ]
        rank, i = min(scored)
        if rank == math.inf:
            return symbols
        symbols = [*symbols[:i], symbols[i] + symbols[i + 1], *symbols[i + 2 :]]
    return symbols


def symbols_by_recursion(piece, ranks):
    def merge(symbols):
        found = sorted(
            (ranks[pair], at)
            for at, pair in enumerate(itertools.pairwise(symbols))
            if pair in ranks
        )
        if not found:
            return symbols
        at = found[0][1]
        return merge((*symbols[:at], symbols[at] + symbols[at + 1], *symbols[at + 2 :]))

    return list(merge(tuple(piece)))


def symbols_from_a_heap(piece, ranks):
    """A linked list, and a heap of the pairs that were ever neighbours."""
    symbols = dict(enumerate(piece))
    after = {i: i + 1 for i in symbols}
    before = {i: i - 1 for i in symbols}
    heap = []

    def push(i):
        pair = symbols.get(i), symbols.get(after.get(i))
        if pair in ranks:
            heapq.heappush(heap, (ranks[pair], i, pair))

    for i in symbols:
        push(i)
    while heap:
        _, i, pair = heapq.heappop(heap)
        if (symbols.get(i), symbols.get(after.get(i))) != pair:
            continue
        gone = after[i]
        symbols[i] += symbols.pop(gone)
        after[i] = after.pop(gone)
        before[after[i]] = i
        push(i)
        push(before[i])
    return [symbols[i] for i in sorted(symbols)]


def symbols_by_a_pattern(piece, ranks):
    """As in the paper of Sennrich et al.: symbols with a space between them, and a pattern."""
    text = " ".join(piece)
    for left, right in sorted(ranks, key=lambda pair: ranks[pair]):
        pattern = re.compile(r"(?<!\S)" + re.escape(f"{left} {right}") + r"(?!\S)")
        text = pattern.sub(lambda found: found[0].replace(" ", ""), text)
    return text.split()


def symbols_as_a_tuple_of_slices(piece, ranks):
    """Where the symbols begin; a merge takes one beginning out."""
    cuts = list(range(len(piece) + 1))
    while True:
        options = {}
        for a, b, c in zip(cuts, cuts[1:], cuts[2:], strict=False):
            rank = ranks.get((piece[a:b], piece[b:c]))
            if rank is not None:
                options.setdefault(rank, b)
        if not options:
            return [piece[a:b] for a, b in itertools.pairwise(cuts)]
        cuts.remove(options[min(options)])


# to_split_halves


def halves_as_hugging_face(features, num_heads, dim):
    """As `permute` in the conversion of Llama's weights, for any axis."""
    moved = features.transpose(0, dim)
    shape = moved.shape
    cut = moved.reshape(num_heads, shape[0] // num_heads // 2, 2, *shape[1:]).transpose(1, 2)
    return cut.reshape(shape).transpose(0, dim)


def halves_by_an_index(features, num_heads, dim):
    width = features.shape[dim] // num_heads
    order = [
        head * width + feature
        for head in range(num_heads)
        for feature in [*range(0, width, 2), *range(1, width, 2)]
    ]
    return features.index_select(dim, torch.tensor(order))


def halves_by_where_each_goes(features, num_heads, dim):
    """Each feature is told its place, and `scatter` brings it there."""
    size = features.shape[dim]
    width = size // num_heads
    number = torch.arange(size)
    place = number // width * width + number % width // 2 + number % 2 * (width // 2)
    out = torch.empty_like(features).movedim(dim, 0)
    out[place] = features.movedim(dim, 0)
    return out.movedim(0, dim)


def halves_by_sorting(features, num_heads, dim):
    number = torch.arange(features.shape[dim])
    width = len(number) // num_heads
    order = (number // width * 2 + number % 2).argsort(stable=True)
    return torch.take_along_dim(
        features,
        order.view([-1 if at == dim % features.dim() else 1 for at in range(features.dim())]),
        dim,
    )


def halves_in_place_of_numbers(features, num_heads, dim):
    axis = dim if dim >= 0 else dim + features.dim()
    cut = features.unflatten(axis, (num_heads, -1, 2))
    return cut.transpose(axis + 1, axis + 2).flatten(axis, axis + 2)


def halves_head_by_head(features, num_heads, dim):
    out = []
    for head in features.chunk(num_heads, dim):
        columns = head.unbind(dim)
        out += columns[::2] + columns[1::2]
    return torch.stack(out, dim=dim)


def halves_by_copying(features, num_heads, dim):
    made = features.clone().transpose(dim, -1).contiguous()
    given = features.transpose(dim, -1)
    d_k = given.shape[-1] // num_heads
    for h in range(num_heads):
        for i in range(d_k // 2):
            made[..., h * d_k + i] = given[..., h * d_k + 2 * i]
            made[..., h * d_k + d_k // 2 + i] = given[..., h * d_k + 2 * i + 1]
    return made.transpose(dim, -1)


def halves_by_einsum_of_a_view(features, num_heads, dim):
    last = features.movedim(dim, -1)
    cut = last.reshape(*last.shape[:-1], num_heads, last.shape[-1] // num_heads // 2, 2)
    return torch.einsum("...hip->...hpi", cut).reshape(last.shape).movedim(-1, dim)


RIGHT_WAYS_CH19A = {
    "dequantize_q4_1": (
        weights_by_struct,
        weights_by_numpy,
        weights_as_gguf,
        weights_without_a_copy,
        weights_by_a_table_of_levels,
        weights_from_the_bits,
        weights_by_a_fused_product,
    ),
    "quantize_blocks": (
        levels_by_loops,
        levels_by_numpy,
        levels_as_ggml,
        levels_by_the_nearest,
        levels_by_sorting,
        levels_by_buckets,
        levels_through_float64,
    ),
    "merge_by_rank": (
        symbols_as_gpt2,
        symbols_rule_by_rule,
        symbols_one_at_a_time,
        symbols_by_recursion,
        symbols_from_a_heap,
        symbols_by_a_pattern,
        symbols_as_a_tuple_of_slices,
    ),
    "to_split_halves": (
        halves_as_hugging_face,
        halves_by_an_index,
        halves_by_where_each_goes,
        halves_by_sorting,
        halves_in_place_of_numbers,
        halves_head_by_head,
        halves_by_copying,
        halves_by_einsum_of_a_view,
    ),
}
