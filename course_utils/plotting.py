"""One style for all static figures.

The background is opaque white on purpose: a figure keeps its contrast in a dark JupyterLab too. On
the site's dark pages its twin takes its place (`dark_figures`). Colours are Okabe and Ito's, which
colour-blind readers tell apart, three of them darkened so that text reads well on white; each line
is named beside it. Figures are narrow with large type, so that they stay readable when a phone
shrinks them.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import matplotlib as mpl
import matplotlib.ticker
import numpy as np
from cycler import cycler
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

COLOURS = {"blue": "#0072B2", "orange": "#BF5300", "green": "#007A59", "pink": "#B14E88"}
INK, QUIET, PAPER = "#1A1A1A", "#595959", "#FFFFFF"
MASK_COLOURS = LinearSegmentedColormap.from_list("mask", ["#F4F6F8", "#0B5CAD"])
"""Masks, here and in the widgets: pale is hidden, blue may look."""
WANTS_TWINS = "ATTENTION_COURSE_DARK_FIGURES"  # set where notebooks are executed for the site
WIDTH = 5.6  # inches, and 100 dots an inch: 560 px on a page, drawn at twice that for sharp screens


def use_style() -> None:
    """Set the course's style for every figure drawn after this call."""
    mpl.rcParams.update(
        {
            "figure.figsize": (WIDTH, 3.4),
            "figure.dpi": 100,
            "figure.facecolor": PAPER,
            "figure.constrained_layout.use": True,
            "savefig.facecolor": PAPER,
            "font.size": 12,
            "axes.titlesize": 12,
            "axes.titlelocation": "left",
            "axes.labelcolor": INK,
            "axes.edgecolor": QUIET,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.prop_cycle": cycler(color=list(COLOURS.values())),
            "text.color": INK,
            "xtick.color": INK,
            "ytick.color": INK,
            "lines.linewidth": 2,
            "lines.markersize": 6,
            "grid.color": "#E3E3E3",
            "axes.axisbelow": True,
        }
    )
    try:
        from IPython.core.getipython import get_ipython
        from matplotlib_inline.backend_inline import set_matplotlib_formats
    except ImportError:
        return
    if get_ipython() is not None:
        set_matplotlib_formats("retina")  # type: ignore[no-untyped-call]
        if os.environ.get(WANTS_TWINS):
            from course_utils.dark_figures import publish_twins  # which needs the style

            publish_twins()


def headline(figure: Figure, title: str) -> None:
    """Write a figure's title above it, flush left."""
    figure.suptitle(title, x=0.01, ha="left", fontsize=13, fontweight="bold")


def new_panels(
    title: str, x_label: str, y_labels: Sequence[str], height: float | None = None
) -> list[Axes]:
    """Return stacked plots that share their horizontal axis.

    Args:
        title: What the figure shows, as a sentence; with a line break where it is long.
        x_label: Quantity and unit.
        y_labels: Quantity and unit of each plot, from the top.
        height: Of the figure, in inches; the width is the course's.
    """
    height = height or 1.2 + 2.2 * len(y_labels)
    figure, grid = plt.subplots(
        len(y_labels), 1, figsize=(WIDTH, height), sharex=True, squeeze=False
    )
    headline(figure, title)
    panels: list[Axes] = list(grid[:, 0])
    for panel, y_label in zip(panels, y_labels, strict=True):
        panel.set_ylabel(y_label)
    panels[-1].set_xlabel(x_label)
    return panels


def new_figure(title: str, x_label: str, y_label: str) -> Axes:
    """Return one plot whose title states the finding; see `new_panels`."""
    return new_panels(title, x_label, [y_label])[0]


def power_axis(axes: Axes, values: Sequence[int], which: str = "x") -> None:
    """Make an axis logarithmic, with a tick that can be read at each of `values` and nowhere else.

    Args:
        axes: The plot.
        values: Powers of two.
        which: "x" or "y".
    """
    if which not in ("x", "y"):
        raise ValueError(f'which must be "x" or "y", got {which!r}')
    axis = axes.xaxis if which == "x" else axes.yaxis
    axes.set(**{f"{which}scale": "log"})
    axis.set_ticks(list(values), [f"{value:,}" for value in values])
    axis.set_minor_locator(mpl.ticker.NullLocator())


def line(
    axes: Axes,
    x: ArrayLike,
    y: ArrayLike,
    name: str,
    colour: str,
    at: Sequence[float] | None = None,
    style: str = "-",
    **options: Any,
) -> None:
    """Draw a line and write its name beside it, in its colour, instead of a legend.

    Args:
        axes: The plot.
        x: Where.
        y: How much.
        name: What the line is.
        colour: One of `COLOURS`.
        at: Left end and middle height of the name, in data coordinates; None writes no name.
        style: matplotlib's, for example "o--".
        **options: Passed on to matplotlib.
    """
    if colour not in COLOURS:
        raise ValueError(f"colour must be one of {', '.join(COLOURS)}, got {colour!r}")
    if np.shape(x) != np.shape(y):
        raise ValueError(f"x and y must have one shape, got {np.shape(x)} and {np.shape(y)}")
    axes.plot(np.asarray(x), np.asarray(y), style, color=COLOURS[colour], label=name, **options)
    if at is not None:
        left, middle = at
        axes.text(left, middle, name, color=COLOURS[colour], va="center", fontweight="bold")


def band(
    axes: Axes,
    x: ArrayLike,
    samples: Sequence[Sequence[float]],
    name: str,
    colour: str,
    at: Sequence[float] | None = None,
    style: str = "o-",
) -> None:
    """Draw the mean of several runs as a line, and their whole range as a band.

    Args:
        axes: The plot.
        x: Where.
        samples: For each x, one number per run.
        name: What the line is.
        colour: One of `COLOURS`.
        at: As in `line`.
        style: As in `line`.
    """
    line(axes, x, [float(np.mean(runs)) for runs in samples], name, colour, at, style)
    low, high = [min(runs) for runs in samples], [max(runs) for runs in samples]
    axes.fill_between(x, low, high, color=COLOURS[colour], alpha=0.2, linewidth=0)
