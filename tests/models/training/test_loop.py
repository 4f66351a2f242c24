"""The training loop's rates, clipping and onlookers."""

import pytest
import torch
from torch import nn

from course_utils.models.training import descend


def one_weight() -> tuple[nn.Module, torch.optim.Optimizer]:
    model = nn.Linear(1, 1, bias=False)
    nn.init.zeros_(model.weight)
    return model, torch.optim.SGD(model.parameters(), lr=123.0)


def path(**options: object) -> list[float]:
    """Return where a weight stands after each step down a slope of 3."""
    model, optimiser = one_weight()
    seen = list[float]()

    def draw_loss() -> torch.Tensor:
        seen.append(model.weight.item())
        return 3 * model.weight.sum()

    descend(model, draw_loss, optimiser, steps=3, learning_rate=0.1, **options)  # type: ignore[arg-type]
    return [*seen[1:], model.weight.item()]


def test_a_rate_of_its_own_is_counted_from_one() -> None:
    asked = list[int]()

    def rate(step: int) -> float:
        asked.append(step)
        return float(step)

    assert path(rate=rate, clip=None) == pytest.approx([-0.3, -0.9, -1.8])
    assert asked[:3] == [1, 2, 3]


def test_gradients_are_cut_to_the_length_that_is_asked() -> None:
    assert path(rate=lambda step: 1.0) == pytest.approx([-0.1, -0.2, -0.3])
    assert path(rate=lambda step: 1.0, clip=2.0) == pytest.approx([-0.2, -0.4, -0.6])


def test_without_a_rate_it_warms_up_and_ends_at_zero() -> None:
    down = path(clip=None)
    assert down[1] - down[2] < down[0] - down[1]


def test_whoever_watches_is_told_each_loss() -> None:
    model, optimiser = one_weight()
    told = list[float]()
    losses = descend(
        model, lambda: 3 * model.weight.sum(), optimiser, steps=4, learning_rate=0.1,
        watch=told.append,
    )  # fmt: skip
    assert told == losses
    assert len(told) == 4
