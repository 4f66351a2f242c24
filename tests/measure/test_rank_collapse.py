import math

import pytest
import torch

from course_utils.measure import rank_one_distance
from tests.support import draw

LEADING = [(), (3,), (2, 3)]


@pytest.mark.parametrize("leading", LEADING)
@pytest.mark.parametrize(("length", "width"), [(5, 3), (3, 5), (1, 4), (4, 1)])
@pytest.mark.peer(
    "15", "`rank_one_distance`", "`torch.linalg.svdvals` of the centred matrix", "float64 1e-7",
    "distance",
)  # fmt: skip
def test_agrees_with_the_singular_values_of_the_centred_matrix(leading, length, width) -> None:
    x = draw(*leading, length, width)
    centring = torch.eye(length, dtype=torch.float64) - 1 / length
    left, size = (torch.linalg.svdvals(m).square().sum(-1).sqrt() for m in (centring @ x, x))
    torch.testing.assert_close(rank_one_distance(x), left / size)


def test_agrees_with_a_sum_over_all_numbers() -> None:
    x = draw(4, 3)
    mean = [sum(float(row[j]) for row in x) / 4 for j in range(3)]
    above = sum((float(x[i, j]) - mean[j]) ** 2 for i in range(4) for j in range(3))
    below = sum(float(n) ** 2 for n in x.flatten())
    assert float(rank_one_distance(x)) == pytest.approx(math.sqrt(above / below))


def test_no_other_vector_is_nearer_than_the_mean() -> None:
    x = draw(5, 3)
    least = rank_one_distance(x) * x.norm()
    for other in x.mean(0) + 0.1 * draw(50, 3):
        assert (x - other).norm() > least


def test_equal_tokens_are_at_zero_and_opposite_ones_at_one() -> None:
    x = draw(3)
    assert float(rank_one_distance(x.repeat(4, 1))) < 1e-15
    assert float(rank_one_distance(torch.stack([x, -x]))) == pytest.approx(1.0)
    assert float(rank_one_distance(torch.stack([x, 2 * x]))) > 0.1  # rank one, but not alike


def test_one_token_and_zeros_give_zero_with_a_finite_gradient() -> None:
    for x in (draw(1, 4), torch.zeros(3, 2, dtype=torch.float64)):
        x.requires_grad_()
        distance = rank_one_distance(x)
        assert distance == 0.0
        (grad,) = torch.autograd.grad(distance, x)
        assert grad.isfinite().all()
