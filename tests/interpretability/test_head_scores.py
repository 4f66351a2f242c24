import pytest
import torch
from torch import Tensor

from course_utils.interpretability import attention_distance, induction_score, previous_token_score


def table(*shape: int) -> Tensor:
    generator = torch.Generator().manual_seed(sum(shape))
    return torch.randn(shape, generator=generator, dtype=torch.float64).softmax(-1)


def looking(length: int, back: int) -> Tensor:
    """Return a head whose every query looks that far back, where there is such a key."""
    return torch.eye(length, dtype=torch.float64).roll(-back, 1).tril()


@pytest.mark.parametrize("back", [0, 1, 3])
def test_a_head_that_looks_so_far_back_has_that_distance(back: int) -> None:
    assert attention_distance(looking(7, back)).item() == back


def test_the_distance_is_the_mean_over_the_rows_that_see_something() -> None:
    weights = table(2, 3, 5, 4)
    weights[1, 2, 0] = weights[1, 2, 3] = 0.0
    weights[0, 1] = 0.0
    found = attention_distance(weights)
    for head, one in zip(found.flatten(), weights.flatten(0, 1), strict=True):
        rows = [
            sum(float(w) * abs(i - j) for j, w in enumerate(row))
            for i, row in enumerate(one)
            if row.any()
        ]
        assert head.item() == pytest.approx(sum(rows) / len(rows) if rows else 0.0)


def test_the_previous_token_s_score_is_1_where_only_it_is_seen() -> None:
    assert previous_token_score(looking(6, 1)).item() == 1.0
    assert previous_token_score(looking(6, 2)).item() == 0.0
    assert previous_token_score(torch.ones(3, 1, 1)).tolist() == [0.0] * 3


@pytest.mark.parametrize("period", [1, 2, 4, 7, 8, 20])
def test_the_scores_are_means_of_single_entries(period: int) -> None:
    weights = table(2, 3, 8, 8)
    before = [weights[..., i, i - 1] for i in range(1, 8)]
    torch.testing.assert_close(previous_token_score(weights), sum(before) / 7)
    matched = [weights[..., i, i - period + 1] for i in range(period, 8)]
    wanted = sum(matched) / len(matched) if matched else torch.zeros(2, 3, dtype=torch.float64)
    torch.testing.assert_close(induction_score(weights, period), wanted)


def test_a_perfect_induction_head_has_score_1_and_the_first_copy_plays_no_part() -> None:
    weights = looking(12, 4 - 1)
    weights[:4] = 0.0
    assert induction_score(weights, 4).item() == 1.0


def test_tables_that_are_not_square_and_periods_below_1_are_refused() -> None:
    for score in (previous_token_score, lambda w: induction_score(w, 2)):
        with pytest.raises(ValueError, match=r"weights must be square, got shape \(3, 4\)"):
            score(table(3, 4))
    with pytest.raises(ValueError, match="period must be at least 1, got 0"):
        induction_score(table(3, 3), 0)
    with pytest.raises(TypeError, match="period must be an int, got float"):
        induction_score(table(3, 3), 2.0)
