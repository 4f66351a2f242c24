"""The heatmap's twin for print: the same picture as a matplotlib figure, all heads side by side."""

from collections.abc import Sequence
from math import ceil
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from course_utils.widgets.heatmap import as_names, as_stack

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MOST_LABELS = 24


def heatmap_figure(
    weights: Any,
    query_tokens: Sequence[str] | None = None,
    key_tokens: Sequence[str] | None = None,
    *,
    title: str = "",
    head_names: Sequence[str] | None = None,
    layer: int = 0,
) -> "Figure":
    """Draw every head of one layer, with one colour scale for all.

    Args:
        weights: As ``heatmap`` takes them.
        query_tokens: One string per row; positions when None.
        key_tokens: One string per column; positions when None.
        title: Stands above the figure.
        head_names: One string per head; "Head 0", "Head 1", ... when None.
        layer: Which layer, where there are several.

    Raises:
        TypeError: Values are no real numbers, or names no strings.
        ValueError: A shape or a number of names does not fit, or there is no such layer.
    """
    stack = as_stack(weights)
    layers, heads, num_queries, num_keys = stack.shape
    if not 0 <= layer < layers:
        raise ValueError(f"layer must be in 0..{layers - 1}, got {layer}")
    queries = as_names(query_tokens, num_queries, "query_tokens", "query")
    keys = as_names(key_tokens, num_keys, "key_tokens", "key")
    names = as_names(head_names, heads, "head_names", "head")
    shown = stack[layer]
    room = 0.07 * max(map(len, keys)) if keys else 0.1
    figure, axes = _panels(heads, num_queries / num_keys, room)
    for head, panel in enumerate(axes):
        image = _panel(panel, shown[head], *_span(stack), queries, keys)
        if heads > 1:
            panel.set_title(names[head] if names else f"Head {head}", fontsize=9)
    figure.colorbar(image, ax=axes, shrink=0.8, pad=0.02)
    if title:
        figure.suptitle(title)
    return figure


def _panels(heads: int, shape: float, room: float) -> tuple["Figure", list["Axes"]]:
    """Return a figure made for paper and one pair of axes per head.

    Args:
        heads: How many panels.
        shape: Height of a panel by its width.
        room: Inches that the names of the keys take.
    """
    from matplotlib.figure import Figure

    columns = heads if heads <= 4 else min((4, 3), key=lambda n: -heads % n)
    rows = ceil(heads / columns)
    tall = min(max(shape, 0.25), 2.0)
    panel = 3.6 if columns == 1 else 1.9
    named = 1 if heads % columns == 0 else 2
    height = (panel * tall + 0.35) * rows + (room + 0.3) * named + 0.3
    figure = Figure(figsize=((panel + 0.2) * columns + 1.2, height), layout="compressed")
    grid = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True)
    for unused in grid.flat[heads:]:
        unused.set_axis_off()
    for axes in grid.flat[max(heads - columns, 0) : heads]:
        axes.set_xlabel("key")
        axes.tick_params(labelbottom=True)
    for axes in grid[:, 0]:
        axes.set_ylabel("query")
    for axes in grid.flat:
        axes.set_box_aspect(tall)
    return figure, list(grid.flat[:heads])


def _span(stack: NDArray[np.float32]) -> tuple[float, float]:
    """Return what the colours span, as the widget's "auto" does."""
    finite = stack[np.isfinite(stack)]
    low, high = float(finite.min(initial=np.inf)), float(finite.max(initial=-np.inf))
    if not finite.size:
        return 0.0, 1.0
    if low >= 0 and high <= 1:
        return 0.0, 1.0 if high >= 0.5 or high == 0 else high
    return low, high if high > low else low + 1


def _panel(
    axes: "Axes",
    values: NDArray[np.float32],
    low: float,
    high: float,
    queries: list[str] | None,
    keys: list[str] | None,
) -> Any:
    """Draw one head; cells that are not finite stay grey and hatched."""
    axes.patch.set(facecolor="0.85", hatch="////", edgecolor="0.4")
    shown = np.where(np.isfinite(values), values, np.nan)
    image = axes.imshow(shown, cmap="viridis", vmin=low, vmax=high, aspect="auto",
                        interpolation="nearest")  # fmt: skip
    for axis, tokens in ((axes.xaxis, keys), (axes.yaxis, queries)):
        if tokens is not None:
            places = range(0, len(tokens), ceil(len(tokens) / _MOST_LABELS))
            axis.set_ticks(list(places), [tokens[i].replace("$", r"\$") for i in places])
    axes.tick_params(labelsize=8)
    if keys is not None:
        axes.tick_params(axis="x", rotation=90)
    return image
