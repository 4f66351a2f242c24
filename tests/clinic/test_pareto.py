"""The front of choices that nothing beats, against a loop."""

import pytest
import torch

from course_utils.clinic import pareto_front


@pytest.mark.parametrize("levels", [2, 4, 9])
@pytest.mark.parametrize("count", [0, 1, 2, 13])
def test_the_front_is_what_a_loop_finds(count: int, levels: int) -> None:
    generator = torch.Generator().manual_seed(count + levels)
    cost, quality = torch.randint(levels, (2, count), generator=generator).double()
    want = [
        not any(
            c <= cost[i] and q >= quality[i] and (c < cost[i] or q > quality[i])
            for c, q in zip(cost, quality, strict=True)
        )
        for i in range(count)
    ]
    got = pareto_front(cost, quality)
    assert got.dtype == torch.bool
    assert got.tolist() == want


def test_equal_points_stay_together() -> None:
    assert pareto_front(torch.ones(3), torch.ones(3)).tolist() == [True] * 3


def test_what_is_refused() -> None:
    good = torch.ones(2)
    with pytest.raises(ValueError, match="must be numbers, got NaN"):
        pareto_front(good, torch.tensor([1.0, torch.nan]))
    with pytest.raises(ValueError, match="cost and quality must have equal lengths, got 2 and 3"):
        pareto_front(good, torch.ones(3))
    with pytest.raises(TypeError, match="cost must have a floating dtype, got"):
        pareto_front(torch.ones(2, dtype=torch.long), good)
