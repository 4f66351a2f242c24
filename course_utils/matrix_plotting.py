"""Figures of matrices: squares with numbers, and products drawn to scale."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import seaborn as sns  # type: ignore[import-untyped]
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from course_utils.plotting import PAPER, QUIET, WIDTH

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
    top: float = 1.0,
) -> None:
    """Draw a matrix as squares, with its numbers in them.

    Args:
        axes: Where to draw.
        matrix: Two-dimensional.
        title: Stands above.
        rows: Names of the rows, or None.
        columns: Names of the columns, or None.
        decimals: Digits shown in each square; None shows no numbers.
        weights: True colours from 0 to `top`; False colours both signs, with zero in the middle.
        top: The weight that gets the brightest colour.

    Raises:
        TypeError: The matrix holds something that is not a number.
        ValueError: The matrix has not two axes.
    """
    try:
        values = np.asarray(matrix, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"matrix must hold numbers, got {matrix!r:.60}") from None
    if values.ndim != 2:
        raise ValueError(f"matrix needs two axes, got shape {values.shape}")
    limit = float(np.nanmax(np.abs(values), initial=1e-12))
    sns.heatmap(
        values,
        ax=axes,
        vmin=0.0 if weights else -limit,
        vmax=top if weights else limit,
        cmap=WEIGHT_COLOURS if weights else SIGNED_COLOURS,
        annot=decimals is not None,
        fmt="" if decimals is None else f".{decimals}f",
        annot_kws={"fontsize": 10},
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


def matrix_flow(
    rows: Sequence[Sequence[Step]], joins: Sequence[Sequence[str]], between: str = ""
) -> None:
    """Draw rows of matrices to scale, with a sign between neighbours.

    Args:
        rows: For each row its matrices, each a title and its entries. A matrix called "weights" is
            coloured from 0 to 1, every other around zero.
        joins: For each row the signs between its matrices, one fewer than those.
        between: Stands between two rows, with an arrow.

    Raises:
        ValueError: The numbers of matrices and of signs do not fit together.
    """
    needed, given = [len(row) - 1 for row in rows], [len(signs) for signs in joins]
    if needed != given:
        raise ValueError(f"the rows need {needed} signs, got {given}")
    cell, gap, head, space = 0.27, 0.5, 0.5, 0.35  # inches: an entry, a sign, a title, a row's foot
    bodies = [cell * max(np.shape(matrix)[0] for _, matrix in row) for row in rows]
    height = sum(bodies) + (head + space) * len(rows) - space + 0.1
    figure = plt.figure(figsize=(WIDTH, height), layout="none")
    top = height
    for row, signs, body in zip(rows, joins, bodies, strict=True):
        if top < height:
            figure.text(0.3 / WIDTH, (top + 0.02) / height, f"↓  {between}", color=QUIET)
        x, middle = 0.3, top - head - body / 2
        for (title, matrix), sign in zip(row, [*signs, ""], strict=True):
            high, wide = (cell * size for size in np.shape(matrix))
            box = (x / WIDTH, (middle - high / 2) / height, wide / WIDTH, high / height)
            caption = f"{title} {np.shape(matrix)[0]}×{np.shape(matrix)[1]}"
            axes = figure.add_axes(box)
            weight_map(axes, matrix, title=caption, weights=title == "weights", decimals=None)
            x += wide + gap
            figure.text((x - gap / 2) / WIDTH, middle / height, sign, ha="center", fontsize=18)
        top -= head + body + space
