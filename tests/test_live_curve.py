"""A live curve takes losses, draws nothing outside a notebook, and updates one display in one."""

from typing import Any

import pytest

from course_utils import live_curve
from course_utils.live_curve import LiveCurve


class Shell:
    """An interactive shell with a kernel, as a notebook has."""

    kernel = object()


class Handle:
    """Counts how often what was displayed is changed."""

    def __init__(self) -> None:
        self.updates = 0

    def update(self, figure: Any) -> None:
        self.updates += 1


@pytest.fixture
def handle(monkeypatch: pytest.MonkeyPatch) -> Handle:
    made = Handle()
    monkeypatch.setattr("IPython.core.getipython.get_ipython", Shell)
    monkeypatch.setattr("IPython.display.display", lambda figure, display_id: made)
    return made


def test_outside_a_notebook_it_only_listens() -> None:
    with LiveCurve("a model", 3) as curve:
        for loss in (3.0, 2.0, 1.5):
            curve(loss)
    assert curve.losses == [3.0, 2.0, 1.5]
    assert curve.figure.axes[0].lines[0].get_xydata().tolist() == [[1, 3.0], [2, 2.0], [3, 1.5]]
    assert curve.figure.get_suptitle() == "a model"


def test_in_a_notebook_it_is_drawn_again_at_the_end(handle: Handle) -> None:
    with LiveCurve("a model", 2, every=1000) as curve:
        curve(2.0)
        assert handle.updates == 0
    assert handle.updates == 1


def train_until_stopped(curve: LiveCurve) -> None:
    with curve:
        curve(2.0)
        curve(1.0)
        raise KeyboardInterrupt


def test_it_is_drawn_while_it_runs_and_after_an_interrupt(handle: Handle) -> None:
    with pytest.raises(KeyboardInterrupt):
        train_until_stopped(LiveCurve("a model", 9, every=0))
    assert handle.updates == 3


def test_steps_must_be_some() -> None:
    with pytest.raises(ValueError, match="steps must be at least 1, got 0"):
        live_curve.LiveCurve("a model", 0)
