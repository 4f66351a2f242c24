"""Figures of matrices: squares with numbers, and products drawn to scale."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from course_utils.plotting import MASK_COLOURS, PAPER, QUIET, WIDTH, headline

WEIGHT_COLOURS, SIGNED_COLOURS = "cividis", "RdBu_r"
Step = tuple[str, ArrayLike]


def weight_map(
    axes: Axes,
    matrix: ArrayLike,
    *,
    title: str = "",
    rows: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    decimals: int | None = 2,
    weights: bool = True,
    mask: bool = False,
    top: float | None = None,
    fontsize: float = 10,
) -> None:
    """Draw a matrix as squares, with its numbers in them.

    Args:
        axes: Where to draw.
        matrix: Two-dimensional.
        title: The title above it.
        rows: Names of the rows, or None.
        columns: Names of the columns, or None.
        decimals: Digits shown in each square; None shows no numbers.
        weights: True colours from 0 to `top`; False colours both signs, with zero in the middle.
        mask: True takes the colours of masks instead: pale is hidden, blue may look.
        top: The entry that gets the last colour; None is 1 for weights, and else the largest
            entry, by size.
        fontsize: Font size of the numbers.
    """
    try:
        values = np.asarray(matrix, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"matrix must hold numbers, got {matrix!r:.60}") from None
    if values.ndim != 2:
        raise ValueError(f"matrix needs two axes, got shape {values.shape}")
    if top is None:
        top = 1.0 if weights else float(np.nanmax(np.abs(values), initial=1e-12))
    import seaborn as sns  # type: ignore[import-untyped]  # with pandas, seconds and 40 MB: late

    sns.heatmap(
        values,
        ax=axes,
        vmin=0.0 if weights else -top,
        vmax=top,
        cmap=MASK_COLOURS if mask else WEIGHT_COLOURS if weights else SIGNED_COLOURS,
        annot=False if decimals is None else values.round(decimals) + 0.0,  # + 0.0: no -0
        fmt="" if decimals is None else f".{decimals}f",
        annot_kws={"fontsize": fontsize},
        square=True,
        cbar=False,
        linewidths=1,
        linecolor=PAPER,
        xticklabels=columns or False,
        yticklabels=rows or False,
    )
    axes.set_title(title, loc="center")
    axes.tick_params(length=0)
    axes.tick_params(axis="y", labelrotation=0)


def colour_key(
    axes: Axes | Iterable[Axes], *, weights: bool = True, top: float = 1.0, label: str = ""
) -> None:
    """Draw a colour bar below the maps.

    Args:
        axes: The maps, of one figure.
        weights: As in `weight_map`.
        top: As in `weight_map`.
        label: What the numbers are.
    """
    panels = [axes] if isinstance(axes, Axes) else list(axes)
    colours = ScalarMappable(
        Normalize(0.0 if weights else -top, top), WEIGHT_COLOURS if weights else SIGNED_COLOURS
    )
    bar = panels[0].figure.colorbar(
        colours, ax=panels, orientation="horizontal", shrink=0.5, aspect=24, pad=0.04
    )
    bar.set_ticks([0.0, top] if weights else [-top, 0.0, top])
    bar.ax.tick_params(length=0, labelsize=10)
    bar.outline.set_visible(False)
    bar.set_label(label, fontsize=10)


def matrix_flow(
    rows: Sequence[Sequence[Step]],
    joins: Sequence[Sequence[str]],
    between: str = "",
    title: str = "",
) -> None:
    """Draw rows of matrices to scale, with their numbers and a sign between neighbours.

    Args:
        rows: For each row its matrices, each a title and its entries. A matrix called "weights" is
            coloured from 0 to 1, every other around zero.
        joins: For each row the signs between its matrices, one fewer than those.
        between: Text between two rows, with an arrow.
        title: Of the figure, on one line.

    Raises:
        ValueError: The numbers of matrices and of signs do not fit together.
    """
    needed, given = [len(row) - 1 for row in rows], [len(signs) for signs in joins]
    if needed != given:
        raise ValueError(f"the rows need {needed} signs, got {given}")
    gap, head, space, edge = 0.36, 0.5, 0.35, 0.2  # inches: a sign, a title, a row's foot, a side
    free = [WIDTH - 2 * edge - gap * len(signs) for signs in joins]
    columns = [sum(np.shape(matrix)[1] for _, matrix in row) for row in rows]
    cell = min(0.42, *(room / wide for room, wide in zip(free, columns, strict=True)))
    bodies = [cell * max(np.shape(matrix)[0] for _, matrix in row) for row in rows]
    top = height = sum(bodies) + (head + space) * len(rows) + 0.1 + 0.3 * bool(title)
    figure = plt.figure(figsize=(WIDTH, height), layout="none")
    if title:
        headline(figure, title)
        top -= 0.3
    first = top
    for row, signs, body in zip(rows, joins, bodies, strict=True):
        if top < first:
            figure.text(edge / WIDTH, (top + 0.02) / height, f"↓  {between}", color=QUIET)
        x, middle = edge, top - head - body / 2
        for (name, matrix), sign in zip(row, [*signs, ""], strict=True):
            high, wide = (cell * size for size in np.shape(matrix))
            box = (x / WIDTH, (middle - high / 2) / height, wide / WIDTH, high / height)
            weights = name == "weights"
            weight_map(
                figure.add_axes(box),
                matrix,
                title=f"{name} {np.shape(matrix)[0]}×{np.shape(matrix)[1]}",
                weights=weights,
                decimals=2 if weights else 1,
                fontsize=27 * cell,
            )
            x += wide + gap
            figure.text((x - gap / 2) / WIDTH, middle / height, sign, ha="center", fontsize=18)
        top -= head + body + space
    _name_colours(figure, height, any(name == "weights" for row in rows for name, _ in row))


def _name_colours(figure: Figure, height: float, weights: bool) -> None:
    """Draw below a flow a scale of colours for each kind of matrix, with a name at each end."""
    named = [(SIGNED_COLOURS, "below 0", "above 0")]
    named += [(WEIGHT_COLOURS, "weight 0", "weight 1")] * weights
    low = 0.1 / height
    for place, (colours, first, last) in enumerate(named):
        left = (0.85 + 2.6 * place) / WIDTH
        scale = figure.add_axes((left, low, 1.0 / WIDTH, 0.16 / height))
        scale.imshow([np.linspace(0, 1, 11)], cmap=colours, aspect="auto")
        scale.set_axis_off()
        figure.text(left - 0.08 / WIDTH, low, first, fontsize=10, va="bottom", ha="right")
        figure.text(left + 1.08 / WIDTH, low, last, fontsize=10, va="bottom")
