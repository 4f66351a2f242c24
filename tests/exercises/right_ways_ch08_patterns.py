"""Right answers to the exercises on counts and patterns of chapter 08 in other styles."""

import math

import numpy as np
import torch

# kv_cache_bytes


def bytes_by_product(*sizes):
    return 2 * math.prod(sizes)


def bytes_of_keys_and_of_values(num_layers, num_kv_heads, d_k, num_tokens, batch, size):
    keys = num_layers * num_kv_heads * d_k * num_tokens * batch * size
    values = num_layers * num_kv_heads * d_k * num_tokens * batch * size
    return keys + values


def bytes_layer_by_layer(layers, heads, d, tokens, batch, size):
    total = 0
    for _ in range(layers):
        for _ in ("key", "value"):
            total += batch * heads * tokens * d * size
    return total


def bytes_of_a_shape(layers, heads, d, tokens, batch, size):
    return layers * 2 * torch.empty(batch, heads, tokens, d, device="meta").numel() * size


def bytes_by_numpy(layers, heads, d, tokens, batch, size):
    return int(np.prod([2, layers, heads, d, tokens, batch, size], dtype=np.int64))


# strided_mask


def strided_by_loops(n, stride):
    mask = torch.zeros(n, n, dtype=torch.bool)
    for i in range(n):
        for j in range(i + 1):
            mask[i, j] = i - j < stride or (i - j) % stride == 0
    return mask


def strided_by_slices(n, stride):
    mask = torch.zeros((n, n), dtype=torch.bool)
    for i in range(n):
        mask[i, max(0, i - stride + 1) : i + 1] = True
        mask[i, i % stride : i + 1 : stride] = True
    return mask


def strided_by_remainders(n, stride):
    place = torch.arange(n)
    far = (place % stride)[:, None] == (place % stride)[None]
    near = torch.ones(n, n).triu(1 - stride).bool()
    return (far | near).tril()


def strided_by_diagonals(n, stride):
    mask = np.zeros((n, n), dtype=bool)
    for back in range(n):
        if back < stride or back % stride == 0:
            mask |= np.eye(n, k=-back, dtype=bool)
    return torch.from_numpy(mask)


def strided_by_lists(L, s):
    return torch.tensor(
        [[j in {*range(i - s + 1, i + 1), *range(i, -1, -s)} for j in range(L)] for i in range(L)]
    )


# fixed_mask


def fixed_by_loops(n, block, summary):
    mask = torch.zeros(n, n, dtype=torch.bool)
    for i in range(n):
        for j in range(i + 1):
            mask[i, j] = i // block == j // block or j % block >= block - summary
    return mask


def fixed_by_slices(n, block, summary):
    mask = torch.zeros(n, n, dtype=torch.bool)
    for i in range(n):
        start = i // block * block
        mask[i, start : i + 1] = True
        for end in range(block, start + 1, block):
            mask[i, end - summary : end] = True
    return mask


def fixed_by_block_diagonal(n, block, summary):
    count = -(-n // block)
    own = torch.kron(torch.eye(count), torch.ones(block, block))[:n, :n] > 0
    one = torch.arange(block) >= block - summary
    return (own | one.repeat(count)[:n]).tril()


def fixed_by_floor(n, block, summary):
    place = torch.arange(n)
    number = torch.div(place, block, rounding_mode="floor")
    rest = place - number * block
    seen = number[:, None].eq(number) | (rest + summary >= block)[None, :]
    return torch.logical_and(seen, place[:, None] >= place)


def fixed_by_lists(n, b, c):
    rows = [[j <= i and (i // b == j // b or b - j % b <= c) for j in range(n)] for i in range(n)]
    return torch.tensor(rows)


RIGHT_WAYS_PATTERNS = {
    "kv_cache_bytes": (
        bytes_by_product,
        bytes_of_keys_and_of_values,
        bytes_layer_by_layer,
        bytes_of_a_shape,
        bytes_by_numpy,
    ),
    "strided_mask": (
        strided_by_loops,
        strided_by_slices,
        strided_by_remainders,
        strided_by_diagonals,
        strided_by_lists,
    ),
    "fixed_mask": (
        fixed_by_loops,
        fixed_by_slices,
        fixed_by_block_diagonal,
        fixed_by_floor,
        fixed_by_lists,
    ),
}
