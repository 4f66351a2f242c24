import pytest
import torch

from course_utils.interpretability import rank_correlation


def test_it_runs_from_the_same_order_to_the_opposite_one() -> None:
    values = torch.tensor([0.3, 0.1, 4.0, 2.0])
    assert rank_correlation(values, values.exp()).item() == pytest.approx(1.0)
    assert rank_correlation(values, -values.pow(3)).item() == pytest.approx(-1.0)


def test_without_equal_values_it_is_the_formula_of_the_textbooks() -> None:
    generator = torch.Generator().manual_seed(0)
    a, b = torch.randn(2, 3, 4, 9, generator=generator, dtype=torch.float64)
    gaps = a.argsort(-1).argsort(-1) - b.argsort(-1).argsort(-1)
    wanted = 1 - 6 * gaps.square().sum(-1).double() / (9 * 80)
    torch.testing.assert_close(rank_correlation(a, b), wanted)


def test_equal_values_share_the_mean_of_their_ranks() -> None:
    tied, ranks = torch.tensor([5.0, 7.0, 7.0, 9.0]), torch.tensor([1.0, 2.5, 2.5, 4.0])
    other = torch.tensor([2.0, 1.0, 3.0, 4.0])
    wanted = torch.corrcoef(torch.stack([ranks, other]))[0, 1].item()
    assert rank_correlation(tied, other).item() == pytest.approx(wanted)


@pytest.mark.parametrize("values", [[2.0, 2.0, 2.0], [1.0]])
def test_where_nothing_is_ranked_it_is_0(values: list[float]) -> None:
    other = torch.arange(float(len(values)))
    assert rank_correlation(torch.tensor(values), other).item() == 0.0
    assert rank_correlation(other, torch.tensor(values)).item() == 0.0
