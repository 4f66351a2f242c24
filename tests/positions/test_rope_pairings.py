import pytest
import torch

from course_utils.attention import split_heads
from course_utils.positions import (
    rope_interleaved,
    rope_split_halves,
    to_interleaved,
    to_split_halves,
)
from tests.support import draw


def test_the_order_of_the_features_by_hand() -> None:
    numbers = torch.arange(6)
    assert to_split_halves(numbers).tolist() == [0, 2, 4, 1, 3, 5]
    assert to_interleaved(numbers).tolist() == [0, 3, 1, 4, 2, 5]
    assert to_split_halves(torch.arange(8), num_heads=2).tolist() == [0, 2, 1, 3, 4, 6, 5, 7]


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_each_undoes_the_other(dim) -> None:
    weight = draw(12, 24)
    there = to_split_halves(weight, 3, dim)
    assert torch.equal(to_interleaved(there, 3, dim), weight)
    assert not torch.equal(there, weight)


def test_turning_and_reordering_may_change_places() -> None:
    x, places = draw(2, 3, 5, 8), torch.arange(5) + 3
    torch.testing.assert_close(
        rope_split_halves(to_split_halves(x), places), to_split_halves(rope_interleaved(x, places))
    )


def test_converted_projections_give_the_same_scores() -> None:
    x, places = draw(2, 5, 24), torch.arange(5)
    W_q, W_k = draw(24, 12, seed=1), draw(24, 12, seed=2)
    q, k = (split_heads(x @ W, 3) for W in (W_q, W_k))
    wanted = rope_interleaved(q, places) @ rope_interleaved(k, places).mT
    q, k = (split_heads(x @ to_split_halves(W, 3), 3) for W in (W_q, W_k))
    torch.testing.assert_close(
        rope_split_halves(q, places) @ rope_split_halves(k, places).mT, wanted
    )


@pytest.mark.parametrize("convert", [to_split_halves, to_interleaved])
def test_features_that_do_not_divide_are_refused(convert) -> None:
    with pytest.raises(ValueError, match="num_heads must divide the axis of 8 features, got 3"):
        convert(torch.zeros(8), 3)
    with pytest.raises(ValueError, match="the width of a head must be even, got 3"):
        convert(torch.zeros(6), 2)
    with pytest.raises(TypeError, match="num_heads must be an int, got float"):
        convert(torch.zeros(6), 2.0)
