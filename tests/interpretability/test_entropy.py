import math

import pytest
import torch

from course_utils.interpretability import attention_entropy


def test_it_runs_from_one_key_to_all_of_them() -> None:
    weights = torch.tensor([[0.0, 1.0, 0.0, 0.0], [0.25] * 4, [0.5, 0.5, 0.0, 0.0]])
    found = attention_entropy(weights)
    torch.testing.assert_close(found, torch.tensor([0.0, math.log(4), math.log(2)]))


def test_weights_are_taken_as_they_are() -> None:
    given = torch.tensor([[0.25, 0.125], [0.0, 0.0]], dtype=torch.float64)
    wanted = [-0.25 * math.log(0.25) - 0.125 * math.log(0.125), 0.0]
    assert attention_entropy(given).tolist() == pytest.approx(wanted)


def test_its_gradient_is_the_formula_s_and_finite_at_0() -> None:
    weights = torch.tensor([[0.3, 0.7, 0.0]], dtype=torch.float64, requires_grad=True)
    attention_entropy(weights).sum().backward()
    assert weights.grad is not None
    wanted = [-math.log(0.3) - 1, -math.log(0.7) - 1]
    assert weights.grad[0, :2].tolist() == pytest.approx(wanted)
    assert bool(weights.grad.isfinite().all())
