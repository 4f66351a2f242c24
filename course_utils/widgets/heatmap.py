"""An interactive heatmap of attention weights, for notebooks and for pages without a kernel."""

from collections.abc import Sequence
from typing import Any

import anywidget
import numpy as np
import traitlets
from numpy.typing import NDArray

from course_utils.widgets._assets import module, style

MAX_VALUES = 2**24
"""More values than this make a notebook that no browser opens in comfort (64 MB of float32)."""

_EXACT_VALUES = 2**16
_RANGES = ("auto", "unit", "all", "head")


def as_stack(weights: Any) -> NDArray[np.float32]:
    """Return weights as (layers, heads, queries, keys) in float32.

    Args:
        weights: (L, S), (H, L, S) or (layers, H, L, S): a tensor of any device and dtype, an array,
            or nested lists. Values that are not finite are kept.

    Raises:
        TypeError: The values are not real numbers.
        ValueError: The shape is none of the three, an axis is empty, or there are too many values.
    """
    if hasattr(weights, "detach"):
        weights = weights.detach().cpu()
        weights = weights.float() if str(weights.dtype) == "torch.bfloat16" else weights.numpy()
    try:
        array = np.asarray(weights)
    except ValueError as error:
        raise ValueError(f"weights must have rows of one length, got {error}") from None
    if array.dtype.kind not in "fiub":
        raise TypeError(f"weights must be real numbers, got an array of {array.dtype}")
    if array.ndim not in (2, 3, 4):
        raise ValueError(
            f"weights must be (L, S), (H, L, S) or (layers, H, L, S), got shape {array.shape}"
        )
    if array.size == 0:
        raise ValueError(f"weights must have no empty axis, got shape {array.shape}")
    if array.size > MAX_VALUES:
        raise ValueError(f"weights must have at most {MAX_VALUES:,} values, got {array.size:,}")
    with np.errstate(over="ignore"):
        stack = array.astype(np.float32)
    return stack.reshape((1,) * (4 - array.ndim) + array.shape)


def as_names(names: Sequence[str] | None, count: int, what: str, one: str) -> list[str] | None:
    """Return names as a list of ``count`` strings, or None.

    Args:
        names: Tokens of an axis, or names of heads or layers.
        count: How many there must be.
        what: The argument's name.
        one: What each of them names.

    Raises:
        TypeError: It is one string, or holds something that is no string.
        ValueError: There are more or fewer than ``count``.
    """
    if names is None:
        return None
    if isinstance(names, str) or not all(isinstance(name, str) for name in names):
        raise TypeError(f"{what} must be a sequence of strings, got {names!r:.60}")
    if len(names) != count:
        raise ValueError(f"{what} must have one string per {one}, {count}, got {len(names)}")
    return list(names)


def encode_values(stack: NDArray[np.float32]) -> tuple[bytes, str]:
    """Return the bytes that the page reads and how: float32, or float16 where there are many.

    float16 keeps three significant digits, which is what is shown, at half the size.
    """
    finite = np.abs(stack[np.isfinite(stack)])
    if stack.size <= _EXACT_VALUES or finite.max(initial=0) > np.finfo(np.float16).max:
        return stack.astype("<f4").tobytes(), "float32"
    return stack.astype("<f2").tobytes(), "float16"


class Heatmap(anywidget.AnyWidget):
    """The widget that ``heatmap`` makes; its traits follow what the reader chooses."""

    _esm = module("heatmap.js")
    _css = style("heatmap.css")

    data = traitlets.Bytes(help="The values, little-endian, row by row.").tag(sync=True)
    encoding = traitlets.Enum(("float32", "float16"), help="How to read them.").tag(sync=True)
    shape: "traitlets.List[int]" = traitlets.List(help="Layers, heads, queries, keys.").tag(
        sync=True
    )
    query_tokens: "traitlets.List[str]" = traitlets.List(
        allow_none=True, help="Names of the rows."
    ).tag(sync=True)
    key_tokens: "traitlets.List[str]" = traitlets.List(
        allow_none=True, help="Names of the columns."
    ).tag(sync=True)
    head_names: "traitlets.List[str]" = traitlets.List(help="Names of the heads.").tag(sync=True)
    layer_names: "traitlets.List[str]" = traitlets.List(help="Names of the layers.").tag(sync=True)
    title = traitlets.Unicode(help="What stands above the picture.").tag(sync=True)
    color_range = traitlets.Enum(_RANGES, "auto", help="What the colours span.").tag(sync=True)
    layer = traitlets.Int(0, help="The layer shown.").tag(sync=True)
    head = traitlets.Int(0, help="The head shown.").tag(sync=True)
    cell = traitlets.List([0, 0], help="Row and column of the chosen cell.").tag(sync=True)

    @traitlets.validate("layer", "head")
    def _known(self, proposal: dict[str, Any]) -> int:
        name, value = proposal["trait"].name, int(proposal["value"])
        count = self.shape[("layer", "head").index(name)] if self.shape else 1
        if not 0 <= value < count:
            raise ValueError(f"{name} must be in 0..{count - 1}, got {value}")
        return value

    @traitlets.validate("cell")
    def _inside(self, proposal: dict[str, Any]) -> list[int]:
        value = list(proposal["value"])
        sizes = self.shape[2:] or [1, 1]
        if len(value) != 2 or not all(0 <= i < n for i, n in zip(value, sizes, strict=True)):
            raise ValueError(f"cell must be [row, column] inside {sizes}, got {value}")
        return value

    def __repr__(self) -> str:
        """Say how much is shown; the same in every run."""
        layers, heads, queries, keys = self.shape
        parts = [f"{layers} layers"] * (layers > 1) + [f"{heads} heads"] * (heads > 1)
        return f"Heatmap({', '.join([*parts, f'{queries} x {keys}'])})"


def heatmap(
    weights: Any,
    query_tokens: Sequence[str] | None = None,
    key_tokens: Sequence[str] | None = None,
    *,
    title: str = "",
    head_names: Sequence[str] | None = None,
    layer_names: Sequence[str] | None = None,
    color_range: str = "auto",
) -> Heatmap:
    """Show weights as a heatmap to hover, or to walk through with the arrow keys.

    Up to 65,536 values are sent exactly (float32), more of them as float16: three digits.

    Args:
        weights: (L, S), (H, L, S) or (layers, H, L, S): tensor, array or nested lists. Rows are
            queries. NaN and infinities are hatched.
        query_tokens: One string per row; positions when None.
        key_tokens: One string per column; positions when None.
        title: Stands above the picture and in saved files.
        head_names: One string per head; "Head 0", "Head 1", ... when None.
        layer_names: One string per layer; "Layer 0", "Layer 1", ... when None.
        color_range: "unit" spans 0 to 1; "all" and "head" end at the largest of all and of the
            head shown; "auto" is "unit" where a weight reaches 0.5. Outside 0..1 all span the data.

    Raises:
        TypeError: Values are no real numbers, or names no strings.
        ValueError: A shape, a number of names, or ``color_range`` is none of those above.
    """
    stack = as_stack(weights)
    layers, heads, queries, keys = stack.shape
    if not isinstance(title, str):
        raise TypeError(f"title must be a string, got {title!r:.60}")
    if color_range not in _RANGES:
        raise ValueError(f"color_range must be one of {', '.join(_RANGES)}, got {color_range!r}")
    data, encoding = encode_values(stack)
    return Heatmap(
        data=data,
        encoding=encoding,
        shape=list(stack.shape),
        query_tokens=as_names(query_tokens, queries, "query_tokens", "query"),
        key_tokens=as_names(key_tokens, keys, "key_tokens", "key"),
        head_names=as_names(head_names, heads, "head_names", "head")
        or [f"Head {i}" for i in range(heads)],
        layer_names=as_names(layer_names, layers, "layer_names", "layer")
        or [f"Layer {i}" for i in range(layers)],
        title=title,
        color_range=color_range,
    )
