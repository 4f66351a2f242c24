"""Differences of the tests' kernels from a learner's: short training."""

import pytest
import torch
from torch import nn

from course_utils.models.training import loop as training
from tools.nbval_kernels import SHORT_TRAINING


def losses(steps: int) -> list[float]:
    torch.manual_seed(0)
    model = nn.Linear(3, 1)
    x = torch.randn(8, 3)
    optimiser = torch.optim.Adam(model.parameters())
    return training.descend(
        model, lambda: model(x).square().mean(), optimiser, steps=steps, learning_rate=1e-2
    )


def test_training_is_cut_short_and_the_same_before(monkeypatch: pytest.MonkeyPatch) -> None:
    whole, few = losses(30), losses(3)
    monkeypatch.setattr(training, "range", range, raising=False)  # taken away again at the end
    names: dict[str, object] = {}
    exec(SHORT_TRAINING, names)
    assert losses(30) == whole[:20]
    assert losses(3) == few
    assert "training" not in names
