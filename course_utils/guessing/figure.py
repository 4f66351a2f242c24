"""Draw a guess into the figure that shows what was measured."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from course_utils.guessing.ask import STATIC, last_given
from course_utils.guessing.known import known

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_guess(axes: Axes, name: str, along: str = "y") -> None:
    """Draw what was guessed, dashed; nothing where no guess was given.

    Args:
        axes: The plot.
        name: The question's name. Of a number, a line across the plot is drawn; of a curve, the
            curve.
        along: The axis on which a number stands, "x" or "y".

    Raises:
        ValueError: There is no such question, it is not of a number or a curve, or `along` is
            another axis.
    """
    if along not in ("x", "y"):
        raise ValueError(f'along must be "x" or "y", got {along!r}')
    if os.environ.get(STATIC):
        return  # also for one that `guesses.json` does not hold yet
    if name not in known() or known()[name].question.kind not in ("number", "curve"):
        raise ValueError(f"name must be that of a guess of a number or a curve, got {name!r}")
    given, question = last_given(name), known()[name].question
    if given is None:
        return
    from course_utils.plotting import COLOURS

    look = {"color": COLOURS["pink"], "linestyle": "--", "linewidth": 2}
    if question.kind == "curve":
        axes.plot(question.x, given, label="your guess", **look)  # type: ignore[arg-type]
        end = question.x[-1], given[-1]  # type: ignore[index]
        side = "left" if axes.xaxis_inverted() else "right"
        axes.annotate("your guess", end, color=COLOURS["pink"], ha=side, va="bottom")
    else:
        draw = axes.axhline if along == "y" else axes.axvline
        draw(float(given), label="your guess", **look)  # type: ignore[arg-type]
