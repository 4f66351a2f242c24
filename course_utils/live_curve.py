"""A loss curve that is drawn while a model trains, and stays on the page when it has."""

from __future__ import annotations

import time
from typing import Self

from matplotlib.figure import Figure

from course_utils import plotting
from course_utils.validation import check_at_least, check_instance, check_number


class LiveCurve:
    """Takes the loss of each step and draws all of them every two seconds.

    Outside a notebook nothing is drawn. In one, the picture is displayed when the block begins,
    updated while it runs and redrawn when it ends, so the whole curve is stored.

    Args:
        title: What is trained.
        steps: How many losses there will be.
        every: Seconds from one drawing to the next.

    Example:
        with LiveCurve("a small model", 400) as curve:
            train(..., watch=curve)
    """

    def __init__(self, title: str, steps: int, every: float = 2.0) -> None:
        check_instance(str, title=title)
        check_at_least(1, steps=steps)
        check_number(every=every)
        self.losses: list[float] = []
        self._every, self._drawn, self._handle = every, time.monotonic(), None
        self.figure = Figure(figsize=(plotting.WIDTH, 2.2))
        axes = self.figure.add_subplot()
        axes.set(xlabel="step", ylabel="loss (nats)", xlim=(0, steps))
        plotting.headline(self.figure, title)
        (self._line,) = axes.plot([], [], color=plotting.COLOURS["blue"], linewidth=1.2)

    def __call__(self, loss: float) -> None:
        """Take the loss of the next step."""
        self.losses.append(loss)
        if time.monotonic() - self._drawn >= self._every:
            self._draw()

    def __enter__(self) -> Self:
        """Display the empty picture."""
        try:
            from IPython.core.getipython import get_ipython
            from IPython.display import display
        except ImportError:
            return self
        if getattr(get_ipython(), "kernel", None) is not None:
            self._handle = display(self.figure, display_id=True)  # type: ignore[no-untyped-call]
        return self

    def __exit__(self, *error: object) -> None:
        """Draw what there is, even after an interrupt."""
        self._draw()

    def _draw(self) -> None:
        self._line.set_data(range(1, len(self.losses) + 1), self.losses)
        axes = self.figure.axes[0]
        axes.relim()
        axes.autoscale_view(scalex=False)
        if self._handle is not None:
            self._handle.update(self.figure)
        self._drawn = time.monotonic()
