"""The tests' kernels: short training, and no comparison of the model's outputs without it."""

import warnings
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from torch import nn

from course_utils import model_file
from course_utils.models.training import loop as training
from tools import nbval_kernels
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


@pytest.mark.parametrize("there", [True, False])
def test_cells_of_the_released_model_are_compared_only_with_it(
    there: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "model"
    monkeypatch.setenv(model_file.ELSEWHERE, str(path))
    if there:
        path.touch()
    sources = ("kept = {}\n\n@with_model\ndef cell():\n    pass", "print(1)", "")
    items = [SimpleNamespace(cell=SimpleNamespace(source=source)) for source in sources]
    for item in items:
        item.options = {"check": True}
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        nbval_kernels.pytest_collection_modifyitems(items)
    assert [item.options["check"] for item in items] == [there, True, True]
    assert len(said) == (not there)
