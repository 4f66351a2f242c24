import math

import pytest
import torch
from torch import Tensor

from course_utils.attention import linformer_attention, scaled_dot_product_attention
from course_utils.measure import largest_tensor
from tests.support import assert_same_function, draw, qkv

S = 7


def one_pair_at_a_time(q: Tensor, k: Tensor, v: Tensor, E: Tensor, F: Tensor) -> Tensor:
    mixed_k = [sum(E[j, r] * k[j] for j in range(len(k))) for r in range(E.shape[1])]
    mixed_v = [sum(F[j, r] * v[j] for j in range(len(v))) for r in range(F.shape[1])]
    rows = []
    for i in range(len(q)):
        powers = [torch.exp(q[i] @ one / math.sqrt(q.shape[1])) for one in mixed_k]
        rows.append(sum(p / sum(powers) * one for p, one in zip(powers, mixed_v, strict=True)))
    return torch.stack(rows)


@pytest.mark.parametrize("num_queries", [1, 3, 7])
@pytest.mark.parametrize("width", [1, 2, 7, 11])
@pytest.mark.peer(
    "08",
    "`linformer_attention`",
    "the paper's equation, in a loop",
    "float64 1e-7",
    "outputs, gradients",
)
def test_agrees_with_a_loop_over_positions_and_mixtures(num_queries, width) -> None:
    given = (*qkv((), num_queries, S), draw(S, width), draw(S, width, seed=1))
    assert_same_function(linformer_attention, one_pair_at_a_time, given)


@pytest.mark.parametrize("leading", [(), (2,), (2, 3), (2, 1, 4)])
def test_every_leading_axis_shares_the_mixtures(leading) -> None:
    given, E, F = qkv(leading, 5, S), draw(S, 3), draw(S, 3, seed=1)
    out = linformer_attention(*given, E, F)
    assert out.shape == (*leading, 5, 6)
    q, k, v = (x.flatten(0, -3) if leading else x[None] for x in given)
    flat = out.reshape(-1, 5, 6)
    for number in range(len(flat)):
        want = one_pair_at_a_time(q[number], k[number], v[number], E, F)
        torch.testing.assert_close(flat[number], want)


def test_mixtures_that_each_hold_one_key_are_attention_itself() -> None:
    given, same = qkv((2, 3), 5, S), torch.eye(S, dtype=torch.float64)
    torch.testing.assert_close(
        linformer_attention(*given, same, same), scaled_dot_product_attention(*given)
    )


def test_makes_nothing_of_every_query_with_every_key() -> None:
    q, E = torch.ones(1, 1, 500, 8), torch.ones(500, 4)
    assert largest_tensor(linformer_attention, q, q, q, E, E) == 500 * 8
    assert largest_tensor(linformer_attention, *(x[0] for x in (q, q, q)), E, E) == 500 * 8


E, F = torch.zeros(S, 5), torch.zeros(S, 5)
