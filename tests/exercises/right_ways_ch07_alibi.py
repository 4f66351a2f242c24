"""Right answers to the exercises on ALiBi in other styles than the reference."""

import math

import torch

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


RIGHT_WAYS_ALIBI = {
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
