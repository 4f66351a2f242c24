"""Right answers to the exercises of chapter 06 in other styles than the reference: the masks."""

import numpy as np
import torch
import torch.nn.functional as F

from tests.exercises.right_ways_ch06_leaks import RIGHT_WAYS_LEAKS
from tests.exercises.right_ways_ch06_softmax import RIGHT_WAYS_SOFTMAX
from tests.exercises.right_ways_ch06_structured import RIGHT_WAYS_STRUCTURED

# causal_mask


def causal_by_tril(num_queries, num_keys, offset=0):
    return torch.ones(num_queries, num_keys, dtype=torch.bool).tril(diagonal=offset)


def causal_by_triu_turned_over(L, S, offset=0):
    return torch.triu(torch.ones(L, S), diagonal=1 + offset) == 0


def causal_by_loops(L, S, offset=0):
    mask = torch.zeros(L, S, dtype=torch.bool)
    for i in range(L):
        for j in range(S):
            if j <= i + offset:
                mask[i, j] = True
    return mask


def causal_by_slices(L, S, offset=0):
    mask = torch.zeros((L, S), dtype=torch.bool)
    for i in range(L):
        mask[i, : max(i + offset + 1, 0)] = True
    return mask


def causal_by_lists(L, S, offset=0):
    return torch.tensor([[j - i <= offset for j in range(S)] for i in range(L)])


def causal_by_numpy(L, S, offset=0):
    return torch.from_numpy(np.tri(L, S, offset, dtype=bool))


def causal_by_ge(L, S, offset=0):
    rows = torch.arange(offset, L + offset)[:, None]
    return rows.ge(torch.arange(S)[None, :])


def causal_by_minus_infinity(L, S, offset=0):
    return torch.full((L, S), float("-inf")).triu(offset + 1).eq(0)


# padding_mask


def padding_by_loop(lengths, num_keys):
    mask = torch.zeros(len(lengths), 1, 1, num_keys, dtype=torch.bool)
    for b, length in enumerate(lengths.tolist()):
        mask[b, :, :, :length] = True
    return mask


def padding_by_view(lengths, num_keys):
    return torch.arange(num_keys).view(1, 1, 1, -1) < lengths.view(-1, 1, 1, 1)


def padding_by_lists(lengths, num_keys):
    rows = [[j < int(n) for j in range(num_keys)] for n in lengths]
    return torch.tensor(rows).unsqueeze(1).unsqueeze(2)


def padding_by_cumsum(lengths, num_keys):
    marks = F.one_hot(lengths, num_keys + 1)[:, :num_keys]
    return (marks.cumsum(-1) == 0)[:, None, None]


def padding_turned_over(lengths, num_keys):
    hidden = torch.arange(num_keys).expand(lengths.size(0), num_keys) >= lengths[:, None]
    return hidden.logical_not().reshape(-1, 1, 1, num_keys)


# window_mask


def window_by_two_triangles(L, S, window, offset=0):
    ones = torch.ones(L, S, dtype=torch.bool)
    return ones.tril(offset).triu(offset - window + 1)


def window_as_a_difference(L, S, window, offset=0):
    ones = torch.ones(L, S)
    return (ones.tril(offset) - ones.tril(offset - window)).bool()


def window_by_distance(L, S, window, offset=0):
    back = (torch.arange(L) + offset)[:, None] - torch.arange(S)
    return (back >= 0) & (back < window)


def window_by_loops(L, S, window, offset=0):
    mask = torch.zeros(L, S, dtype=torch.bool)
    for i in range(L):
        for j in range(max(0, i + offset - window + 1), min(S, i + offset + 1)):
            mask[i, j] = True
    return mask


def window_by_exclusion(L, S, window, offset=0):
    own, place = torch.arange(L)[:, None] + offset, torch.arange(S)[None]
    return ~((place > own) | (place <= own - window))


def window_by_range(L, S, window, offset=0):
    return torch.tensor(
        [[j in range(i + offset + 1 - window, i + offset + 1) for j in range(S)] for i in range(L)]
    )


RIGHT_WAYS_CH06 = {
    "causal_mask": (
        causal_by_tril,
        causal_by_triu_turned_over,
        causal_by_loops,
        causal_by_slices,
        causal_by_lists,
        causal_by_numpy,
        causal_by_ge,
        causal_by_minus_infinity,
    ),
    "padding_mask": (
        padding_by_loop,
        padding_by_view,
        padding_by_lists,
        padding_by_cumsum,
        padding_turned_over,
    ),
    "window_mask": (
        window_by_two_triangles,
        window_as_a_difference,
        window_by_distance,
        window_by_loops,
        window_by_exclusion,
        window_by_range,
    ),
    **RIGHT_WAYS_STRUCTURED,
    **RIGHT_WAYS_SOFTMAX,
    **RIGHT_WAYS_LEAKS,
}
