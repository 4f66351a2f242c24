import itertools
import math

import pytest
import torch
from torch import Tensor

from course_utils.attention import merge_partials, online_softmax_step
from tests.support import draw

TORCH = pytest.mark.peer(
    "09",
    "`online_softmax_step`, `merge_partials`",
    "`torch.softmax`, `torch.logsumexp`",
    "float64 1e-7",
    "outputs, lse, gradients",
)

SPLITS = [(7,), (1, 6), (6, 1), (3, 4), (1,) * 7]


def start(*leading: int, d_v: int, dtype: torch.dtype = torch.float64) -> tuple[Tensor, ...]:
    zeros = torch.zeros(leading, dtype=dtype)
    return torch.full_like(zeros, -torch.inf), zeros, torch.zeros(*leading, d_v, dtype=dtype)


def run(scores: Tensor, value: Tensor, split: tuple[int, ...]) -> tuple[Tensor, ...]:
    state = start(*scores.shape[:-1], d_v=value.shape[-1], dtype=scores.dtype)
    pieces = zip(scores.split(split, -1), value.split(split, -2), strict=True)
    for some_scores, some_values in pieces:
        state = online_softmax_step(*state, some_scores, some_values)
    return state


@pytest.mark.parametrize("split", SPLITS, ids=str)
@pytest.mark.parametrize("leading", [(), (2,), (2, 3)], ids=str)
@TORCH
def test_any_split_of_the_keys_gives_softmax(leading, split) -> None:
    given = tuple(x.requires_grad_() for x in (draw(*leading, 5, 7), draw(*leading, 7, 4)))
    m, total, acc = run(*given, split)
    scores, value = given
    out, want = acc / total.unsqueeze(-1), scores.softmax(-1) @ value
    torch.testing.assert_close(out, want)
    torch.testing.assert_close(m + total.log(), scores.logsumexp(-1))
    assert torch.equal(m, scores.amax(-1))
    slope = draw(*leading, 5, 4, seed=3)
    torch.testing.assert_close(
        torch.autograd.grad(out, given, slope), torch.autograd.grad(want, given, slope)
    )


@pytest.mark.parametrize("order", [*itertools.permutations(range(3))])
def test_scores_of_any_size_in_any_order_stay_finite(order) -> None:
    scores = torch.tensor([[-1e4, 0.0, 1e4], [700.0, 710.0, 720.0]])[:, order]
    value = torch.eye(3)[list(order)]
    _, total, acc = run(scores, value, (1, 1, 1))
    torch.testing.assert_close(acc / total.unsqueeze(-1), torch.softmax(scores, -1) @ value)


def test_a_row_of_hidden_keys_leaves_its_state_as_it_was() -> None:
    before = (
        torch.tensor([2.0, -torch.inf]),
        torch.tensor([3.0, 0.0]),
        torch.tensor([[4.0], [0.0]]),
    )
    after = online_softmax_step(*before, torch.full((2, 5), -torch.inf), torch.ones(5, 1))
    assert all(map(torch.equal, before, after))


def test_the_gradient_is_finite_where_a_query_sees_nothing() -> None:
    scores = torch.tensor([[0.5, -torch.inf], [-torch.inf, -torch.inf]], requires_grad=True)
    _, total, acc = run(scores, torch.ones(2, 3), (1, 1))
    (grad,) = torch.autograd.grad(total.sum() + acc.sum(), scores)
    assert grad.isfinite().all()
    assert grad[1].eq(0).all()


def attended(scores: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
    return scores.softmax(-1) @ value, scores.logsumexp(-1)


@pytest.mark.parametrize("cut", range(1, 7))
@pytest.mark.parametrize("leading", [(), (2, 3)], ids=str)
@TORCH
def test_two_parts_merge_to_the_whole(leading, cut) -> None:
    scores, value = draw(*leading, 5, 7).requires_grad_(), draw(*leading, 7, 4).requires_grad_()
    first = attended(scores[..., :cut], value[..., :cut, :])
    second = attended(scores[..., cut:], value[..., cut:, :])
    whole = attended(scores, value)
    merged = merge_partials(*first, *second)
    torch.testing.assert_close(merged, whole)
    slopes = draw(*leading, 5, 4, seed=3), draw(*leading, 5, seed=4)
    torch.testing.assert_close(
        torch.autograd.grad(merged, (scores, value), slopes),
        torch.autograd.grad(whole, (scores, value), slopes),
    )


@pytest.mark.parametrize("largest", [-1e4, 1e4])
def test_merging_large_scores_stays_finite(largest) -> None:
    scores, value = largest + draw(5, 7), draw(7, 4)
    parts = attended(scores[:, :3], value[:3]), attended(scores[:, 3:], value[3:])
    torch.testing.assert_close(merge_partials(*parts[0], *parts[1]), attended(scores, value))


@pytest.mark.parametrize("nothing", [-torch.inf, torch.inf])
@pytest.mark.parametrize("swap", [False, True])
def test_a_part_that_saw_no_key_is_ignored_with_its_nan(swap, nothing) -> None:
    seen = torch.tensor([[1.0, 2.0]], requires_grad=True), torch.tensor([0.5], requires_grad=True)
    unseen = torch.full((1, 2), torch.nan, requires_grad=True), torch.tensor([nothing])
    merged = merge_partials(*unseen, *seen) if swap else merge_partials(*seen, *unseen)
    assert torch.equal(merged[0], seen[0])
    assert torch.equal(merged[1], seen[1])
    grads = torch.autograd.grad(merged[0].sum() + merged[1].sum(), (*seen, unseen[0]))
    assert [grad.tolist() for grad in grads] == [[[1.0, 1.0]], [1.0], [[0.0, 0.0]]]


def test_two_empty_parts_give_zeros_and_minus_infinity() -> None:
    nothing = torch.full((3, 2), torch.nan), torch.full((3,), -torch.inf, requires_grad=True)
    out, lse = merge_partials(*nothing, *nothing)
    assert torch.equal(out, torch.zeros(3, 2))
    assert lse.tolist() == [-math.inf] * 3
    (grad,) = torch.autograd.grad(out.sum() + lse.sum(), nothing[1])
    assert grad.isfinite().all()


M, ACC, SCORES, VALUE = torch.zeros(5), torch.zeros(5, 4), torch.zeros(5, 7), torch.zeros(7, 4)


@pytest.mark.parametrize(
    ("given", "kind", "message"),
    [
        ((M, M, ACC, SCORES[:4], VALUE), ValueError, r"got \(5,\), \(5,\), \(5, 4\), \(4, 7\)"),
        ((M, M[:1], ACC, SCORES, VALUE), ValueError, "must fit together"),
        ((M, M, ACC, SCORES, VALUE[:3]), ValueError, r"\(3, 4\)"),
        ((M, M, ACC, SCORES[:, :0], VALUE[:0]), ValueError, "T at least 1"),
        ((M[0], M[0], ACC[0], SCORES[0], VALUE), ValueError, r"got \(\), \(\), \(4,\)"),
    ],
)
def test_a_bad_step_is_named(given, kind, message) -> None:
    with pytest.raises(kind, match=message):
        online_softmax_step(*given)


@pytest.mark.parametrize(
    ("given", "kind", "message"),
    [
        ((ACC, M, ACC[:, :3], M), ValueError, r"got \(5, 4\), \(5,\), \(5, 3\), \(5,\)"),
        ((ACC, M[:4], ACC, M), ValueError, "of the same sizes"),
    ],
)
def test_bad_parts_are_named(given, kind, message) -> None:
    with pytest.raises(kind, match=message):
        merge_partials(*given)
