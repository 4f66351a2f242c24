"""The indexer against a loop over queries; tests/peers holds it against transformers."""

import pytest
import torch
from torch import Tensor

from course_utils.positions import choose_keys, index_scores, rope_split_halves
from tests.exercises.right_ways_ch08 import keys_query_by_query
from tests.support import draw


def given(batch: int = 2, heads: int = 4, length: int = 9, width: int = 6) -> tuple[Tensor, ...]:
    return (
        draw(batch, heads, length, width), draw(batch, length, width, seed=1),
        draw(batch, heads, length, seed=2).abs() + 0.1,
    )  # fmt: skip


@pytest.mark.parametrize("top_k", [1, 3, 9, 20])
def test_the_choice_is_that_of_a_loop_over_queries(top_k) -> None:
    three = given(heads=8)
    mask = choose_keys(*three, top_k)
    assert torch.equal(mask, keys_query_by_query(*three, top_k))
    want = torch.arange(1, 10).clamp(max=top_k)
    assert torch.equal(mask.sum(-1), want.expand(2, 9))


def test_scores_are_weighted_positive_products_of_rotated_vectors() -> None:
    query, key, weights = given()
    scores = index_scores(query, key, weights, base=100.0)
    at = torch.arange(9)
    asked, offered = (rope_split_halves(x, at, 100.0) for x in (query, key.unsqueeze(1)))
    for h, t, s in ((0, 3, 1), (2, 8, 8), (1, 0, 5)):
        each = (asked[1, :, t] @ offered[1, 0, s]).clamp(min=0) * weights[1, :, t]
        torch.testing.assert_close(scores[1, t, s], each.sum())
        assert each[h] >= 0


def test_scores_carry_gradients_and_the_choice_none() -> None:
    three = [one.requires_grad_() for one in given()]
    assert not choose_keys(*three, 3).requires_grad
    index_scores(*three).sum().backward()
    assert all(bool(one.grad.abs().sum() > 0) for one in three)


def test_a_step_to_later_positions_changes_no_choice() -> None:
    query, key, weights = given()
    at = torch.arange(9) + 50
    products = rope_split_halves(query, at) @ rope_split_halves(key.unsqueeze(1), at).mT
    later = (weights.unsqueeze(-1) * products.relu()).sum(1)
    torch.testing.assert_close(later, index_scores(query, key, weights))


def test_bad_input_is_named() -> None:
    query, key, weights = given()
    with pytest.raises(ValueError, match=r"key must have the shape \(2, 9, 6\), got \(2, 8, 6\)"):
        choose_keys(query, key[:, :8], weights, 2)
    with pytest.raises(ValueError, match=r"head_weights must have the shape \(2, 4, 9\)"):
        choose_keys(query, key, weights.mT, 2)
    with pytest.raises(ValueError, match="top_k"):
        choose_keys(query, key, weights, 0)
