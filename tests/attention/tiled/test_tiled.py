import math

import pytest
import torch
from torch import Tensor

from course_utils.attention import tiled_attention, tiled_attention_backward
from course_utils.measure import count_flops, largest_tensor, peak_memory
from tests.support import draw, qkv

LENGTHS = [(1, 1), (5, 7), (7, 5), (8, 8), (1, 9), (9, 1)]
BLOCKS = [(1, 1), (2, 3), (3, 2), (4, 4), (100, 100), (5, 1)]


def loop(query: Tensor, key: Tensor, value: Tensor, is_causal: bool) -> tuple[Tensor, Tensor]:
    """Attend one query at a time."""
    rows, sums = [], []
    for i in range(query.shape[-2]):
        seen = min(i + 1, key.shape[-2]) if is_causal else key.shape[-2]
        scores = query[..., i, None, :] @ key[..., :seen, :].mT / math.sqrt(query.shape[-1])
        rows.append(scores.softmax(-1) @ value[..., :seen, :])
        sums.append(scores.logsumexp(-1))
    return torch.cat(rows, -2), torch.cat(sums, -1)


@pytest.mark.thorough
@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("blocks", BLOCKS, ids=str)
@pytest.mark.parametrize("lengths", LENGTHS, ids=str)
def test_every_tile_size_gives_attention_and_its_logsumexp(lengths, blocks, is_causal) -> None:
    given = [x.requires_grad_() for x in qkv((2, 3), *lengths)]
    ours, want = tiled_attention(*given, *blocks, is_causal), loop(*given, is_causal)
    torch.testing.assert_close(ours, want)
    slopes = [draw(*x.shape, seed=9) for x in want]
    torch.testing.assert_close(
        torch.autograd.grad(ours, given, slopes), torch.autograd.grad(want, given, slopes)
    )


@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("blocks", BLOCKS, ids=str)
@pytest.mark.parametrize("lengths", LENGTHS, ids=str)
def test_every_tile_size_gives_the_gradients(lengths, blocks, is_causal) -> None:
    given = [x.requires_grad_() for x in qkv((2, 3), *lengths)]
    out, lse = loop(*given, is_causal)
    slope = draw(*out.shape, seed=9)
    ours = tiled_attention_backward(*given, out, lse, slope, *blocks, is_causal)
    torch.testing.assert_close(ours, torch.autograd.grad(out, given, slope))


@pytest.mark.parametrize("is_causal", [False, True])
def test_query_heads_share_the_heads_of_keys(is_causal) -> None:
    query, key, value = (x.requires_grad_() for x in (qkv((2, 6), 7, 9)[0], *qkv((2, 2), 7, 9)[1:]))
    ours = tiled_attention(query, key, value, 3, 2, is_causal)
    wide = (x.repeat_interleave(3, dim=1) for x in (key, value))
    want = loop(query, *wide, is_causal)
    torch.testing.assert_close(ours, want)
    slope = draw(*want[0].shape, seed=9)
    given = query, key, value
    gradients = torch.autograd.grad(want[0], given, slope, retain_graph=True)
    torch.testing.assert_close(torch.autograd.grad(ours[0], given, slope), gradients)
    again = tiled_attention_backward(*given, *want, slope, 3, 2, is_causal)
    torch.testing.assert_close(again, gradients)


def test_large_scores_stay_finite() -> None:
    given = [100 * x for x in qkv((1, 2), 13, 15)]
    torch.testing.assert_close(tiled_attention(*given, 4, 2, True), loop(*given, True))


@pytest.mark.parametrize("num_queries", [0, 3])
def test_no_key_gives_zeros_and_no_query_nothing(num_queries) -> None:
    query, key, value = qkv((2, 3), num_queries, 0)
    out, lse = tiled_attention(query, key, value, 2, 2)
    assert torch.equal(out, torch.zeros(2, 3, num_queries, 6, dtype=torch.float64))
    assert torch.equal(lse, torch.full((2, 3, num_queries), -torch.inf, dtype=torch.float64))
    grads = tiled_attention_backward(query, key, value, out, lse, out, 2, 2)
    assert all(map(torch.equal, grads, map(torch.zeros_like, (query, key, value))))


def backward(query: Tensor, key: Tensor, value: Tensor) -> object:
    return tiled_attention_backward(query, key, value, value, value[..., 0], value, 64, 32, True)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("call", "products"), [(lambda *x: tiled_attention(*x, 64, 32, True), 2), (backward, 5)]
)
def test_tiles_in_the_future_are_never_computed(call, products) -> None:
    x = torch.zeros(1, 1, 512, 8)
    computed = sum(64 * (first + 64) for first in range(0, 512, 64))
    assert count_flops(call, x, x, x) == products * 2 * 8 * computed


def test_no_tensor_is_larger_than_a_tile_or_an_output() -> None:
    given = (torch.zeros(2, 3, 256, 4),) * 3
    assert largest_tensor(lambda *x: tiled_attention(*x, 64, 32), *given) == 2 * 3 * 64 * 32
    assert largest_tensor(lambda *x: tiled_attention(*x, 32, 16), *given) == 2 * 3 * 256 * 4


@pytest.mark.thorough
def test_beyond_the_output_the_forward_pass_holds_ten_mebibytes() -> None:
    given = tuple(torch.zeros(1, 8, 4096, 64) for _ in range(3))
    peak = peak_memory(lambda *x: tiled_attention(*x, 256, 256), *given)
    assert peak - given[0].nbytes <= 10 * 2**20
