"""The heatmap's twin for print: the same pictures as a matplotlib figure, all heads of a layer."""

from collections.abc import Sequence
from math import ceil
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from course_utils.plain_validation import check_instance, check_int
from course_utils.widgets._weights import as_names, as_pair

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MOST_LABELS = 24
_Scale = tuple[str, float, float]


def heatmap_figure(
    weights: Any,
    query_tokens: Sequence[str] | None = None,
    key_tokens: Sequence[str] | None = None,
    *,
    other: Any = None,
    pair_names: Sequence[str] = ("first", "second"),
    title: str = "",
    head_names: Sequence[str] | None = None,
    layer: int = 0,
) -> "Figure":
    """Draw every head of one layer, with one colour scale for all.

    Given `other`, each head is a row of three: the weights, the others, and the others less the
    weights in colours of their own.

    Args:
        weights: As ``heatmap`` takes them.
        query_tokens: One string per row; positions when None.
        key_tokens: One string per column; positions when None.
        other: Weights of the same shape to compare with.
        pair_names: What `weights` and `other` are, in this order.
        title: Stands above the figure.
        head_names: One string per head; "Head 0", "Head 1", ... when None.
        layer: Which layer, where there are several.

    Raises:
        TypeError: Values are not real numbers, or names are not strings.
        ValueError: A shape or a number of names does not fit, or there is no such layer.
    """
    check_instance(str, title=title)
    check_int(layer=layer)
    stacks = as_pair(weights, other)
    layers, heads, num_queries, num_keys = stacks[0].shape
    if not 0 <= layer < layers:
        raise ValueError(f"layer must be in 0..{layers - 1}, got {layer}")
    queries = as_names(query_tokens, num_queries, "query_tokens", "query")
    keys = as_names(key_tokens, num_keys, "key_tokens", "key")
    names = as_names(head_names, heads, "head_names", "head") or [f"Head {i}" for i in range(heads)]
    pair = as_names(pair_names, 2, "pair_names", "stack") or []
    maps = _maps([stack[layer] for stack in stacks], names, pair, np.stack(stacks))
    room = 0.07 * max(map(len, keys)) if keys else 0.1
    figure, axes = _panels(
        len(maps), num_queries / num_keys, room, 3 if other is not None else None
    )
    scales: dict[str, tuple[Any, list[Axes]]] = {}
    for panel, (name, values, scale) in zip(axes, maps, strict=True):
        image = _panel(panel, values, scale, queries, keys)
        scales.setdefault(scale[0], (image, []))[1].append(panel)
        if len(maps) > 1:
            panel.set_title(name, fontsize=9)
    for image, panels in scales.values():
        figure.colorbar(image, ax=panels, shrink=0.8, pad=0.02)
    if title:
        figure.suptitle(title)
    return figure


def _maps(
    stacks: list[NDArray[np.float32]],
    names: list[str],
    pair: list[str],
    everything: NDArray[np.float32],
) -> list[tuple[str, NDArray[np.float32], _Scale]]:
    """Return what to draw, row by row: a name, the values, and a colour map with its ends."""
    plain = ("viridis", *_span(everything))
    if len(stacks) == 1:
        return [(name, values, plain) for name, values in zip(names, stacks[0], strict=True)]
    apart = stacks[1] - stacks[0]
    far = float(np.abs(apart[np.isfinite(apart)]).max(initial=0)) or 1.0
    shown = [(stacks[0], plain), (stacks[1], plain), (apart, ("PuOr", -far, far))]
    kinds = [pair[0], pair[1], f"{pair[1]} − {pair[0]}"]
    return [
        (f"{name}: {kind}" if len(names) > 1 else kind, values[head], scale)
        for head, name in enumerate(names)
        for kind, (values, scale) in zip(kinds, shown, strict=True)
    ]


def _panels(
    heads: int, shape: float, room: float, across: int | None
) -> tuple["Figure", list["Axes"]]:
    """Return a figure for paper and a pair of axes per map, `across` of them next to each other.

    `shape` is a panel's height by its width, and `room` the inches that names of keys take.
    """
    from matplotlib.figure import Figure

    columns = across or (heads if heads <= 4 else min((4, 3), key=lambda n: -heads % n))
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
    scale: _Scale,
    queries: list[str] | None,
    keys: list[str] | None,
) -> Any:
    """Draw one map; cells that are not finite stay grey and hatched."""
    cmap, low, high = scale
    axes.patch.set(facecolor="0.85", hatch="////", edgecolor="0.4")
    shown = np.where(np.isfinite(values), values, np.nan)
    image = axes.imshow(shown, cmap=cmap, vmin=low, vmax=high, aspect="auto",
                        interpolation="nearest")  # fmt: skip
    for axis, tokens in ((axes.xaxis, keys), (axes.yaxis, queries)):
        if tokens is not None:
            places = range(0, len(tokens), ceil(len(tokens) / _MOST_LABELS))
            axis.set_ticks(list(places), [tokens[i].replace("$", r"\$") for i in places])
    axes.tick_params(labelsize=8)
    if keys is not None:
        axes.tick_params(axis="x", rotation=90)
    return image
