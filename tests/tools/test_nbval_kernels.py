"""The tests' kernels: short training, and no comparison of the model's outputs without it."""

import os
import warnings
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from torch import nn

from course_utils import model_file
from course_utils.dark_figures import MIME
from course_utils.models.training import loop as training
from course_utils.plotting import WANTS_TWINS
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


@pytest.mark.parametrize("lax", [True, False])
def test_a_figure_s_twin_is_neither_compared_nor_drawn(
    lax: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in nbval_kernels.kernel_environment(tmp_path):
        monkeypatch.setenv(name, "as it was")
    notebook = SimpleNamespace(kernel=None, skip_compare=("image/png",), sanitize_patterns={})
    config = SimpleNamespace(
        option=SimpleNamespace(nbval_lax=lax), stash={nbval_kernels._scratch: tmp_path}
    )
    nbval_kernels.pytest_runtest_setup(SimpleNamespace(parent=notebook, config=config))
    assert notebook.skip_compare == ("image/png", MIME)
    assert os.environ[WANTS_TWINS] == ""


def test_the_longest_chapter_comes_first_and_its_cells_stay_in_order() -> None:
    names = ["00_start_here", "00_start_here", "new", "01_bottleneck", "01_bottleneck"]
    items = [SimpleNamespace(path=Path(f"{name}.ipynb"), at=at) for at, name in enumerate(names)]
    nbval_kernels.pytest_collection_modifyitems(items)
    assert [item.at for item in items] == [3, 4, 0, 1, 2]


@pytest.mark.parametrize("there", [True, False])
def test_cells_of_the_released_model_are_compared_only_with_it(
    there: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "model"
    monkeypatch.setenv(model_file.ELSEWHERE, str(path))
    if there:
        path.touch()
    sources = ("kept = {}\n\n@with_model\ndef cell():\n    pass", "print(1)", "")
    path = Path("new.ipynb")
    items = [SimpleNamespace(cell=SimpleNamespace(source=one), path=path) for one in sources]
    for item in items:
        item.options = {"check": True}
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        nbval_kernels.pytest_collection_modifyitems(items)
    assert [item.options["check"] for item in items] == [there, True, True]
    assert len(said) == (not there)
