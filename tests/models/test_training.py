"""The training loop: how many steps it takes."""

import pytest
import torch
from torch import nn

from course_utils.models.training import MOST_STEPS, descend


def losses(steps: int) -> list[float]:
    torch.manual_seed(0)
    model = nn.Linear(3, 1)
    x = torch.randn(8, 3)
    optimiser = torch.optim.Adam(model.parameters())
    return descend(
        model, lambda: model(x).square().mean(), optimiser, steps=steps, learning_rate=1e-2
    )


def test_a_variable_cuts_training_short_and_changes_nothing_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole = losses(30)
    assert len(whole) == 30
    monkeypatch.setenv(MOST_STEPS, "5")
    assert losses(30) == whole[:5]
    monkeypatch.setenv(MOST_STEPS, "50")
    assert losses(30) == whole


@pytest.mark.parametrize("most", ["0", "-3", "few", "1.5", ""])
def test_a_variable_that_is_no_number_of_steps_is_refused(
    most: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(MOST_STEPS, most)
    with pytest.raises(ValueError, match=f"{MOST_STEPS} must be a whole number above 0"):
        losses(3)
