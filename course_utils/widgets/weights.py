"""Arguments that every picture of weights takes, sends and refuses."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import traitlets
from numpy.typing import NDArray

from course_utils.plain_validation import check_instance, check_strings
from course_utils.widgets.traits import CourseWidget, Index

MAX_VALUES = 2**24
"""More values than this make a notebook that no browser opens comfortably (64 MB of float32)."""

_EXACT_VALUES = 2**16


def as_stack(weights: Any, what: str = "weights") -> NDArray[np.float32]:
    """Return weights as (layers, heads, queries, keys) in float32; non-finite ones are kept.

    They are (L, S), (H, L, S) or (layers, H, L, S): a tensor of any device and dtype, an array, or
    nested lists. `what` is the argument's name.
    """
    if hasattr(weights, "detach"):
        weights = weights.detach().cpu()
        weights = weights.float() if str(weights.dtype) == "torch.bfloat16" else weights.numpy()
    try:
        array = np.asarray(weights)
    except ValueError as error:
        raise ValueError(f"{what} must have rows of one length, got {error}") from None
    if array.dtype.kind not in "fiub":
        raise TypeError(f"{what} must be real numbers, got an array of {array.dtype}")
    if array.ndim not in (2, 3, 4):
        raise ValueError(
            f"{what} must be (L, S), (H, L, S) or (layers, H, L, S), got shape {array.shape}"
        )
    if array.size == 0:
        raise ValueError(f"{what} must have no empty axis, got shape {array.shape}")
    if array.size > MAX_VALUES:
        raise ValueError(f"{what} must have at most {MAX_VALUES:,} values, got {array.size:,}")
    with np.errstate(over="ignore"):
        stack = array.astype(np.float32)
    return stack.reshape((1,) * (4 - array.ndim) + array.shape)


def as_pair(weights: Any, other: Any) -> list[NDArray[np.float32]]:
    """Return the weights, and after them the others where there are any."""
    stacks = [as_stack(weights)]
    if other is not None:
        stacks.append(as_stack(other, "other"))
        if stacks[0].shape != stacks[1].shape:
            raise ValueError(
                f"other must have the weights' shape, {stacks[0].shape} with layers and heads, "
                f"got {stacks[1].shape}"
            )
        if 2 * stacks[0].size > MAX_VALUES:
            raise ValueError(
                f"weights and other must have at most {MAX_VALUES:,} values, "
                f"got {2 * stacks[0].size:,}"
            )
    return stacks


def as_names(names: Sequence[str] | None, count: int, what: str, one: str) -> list[str] | None:
    """Return names as a list of ``count`` strings, or None; each names `one` of an axis."""
    if names is None:
        return None
    check_strings(**{what: names})
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


def pair_inside(value: Any, sizes: Sequence[int], rule: str) -> list[int]:
    """Return two indices, each below its size, as a list."""
    pair = list(value)
    if len(pair) != 2 or not all(0 <= i < size for i, size in zip(pair, sizes, strict=True)):
        raise ValueError(f"{rule} inside {list(sizes)}, got {pair}")
    return pair


class WeightsWidget(CourseWidget):
    """A base of the widgets of weights: the values, their names, the layer and the chosen cell."""

    data = traitlets.Bytes(help="The weights, little-endian, row by row.")
    encoding = traitlets.Enum(("float32", "float16"), help="How to read them.")
    shape = traitlets.List(traitlets.Int(), help="Layers, heads, queries, keys.")
    query_tokens = traitlets.List(traitlets.Unicode(), allow_none=True, help="Names of the rows.")
    key_tokens = traitlets.List(traitlets.Unicode(), allow_none=True, help="Names of the columns.")
    head_names = traitlets.List(traitlets.Unicode(), help="Names of the heads.")
    layer_names = traitlets.List(traitlets.Unicode(), help="Names of the layers.")
    title = traitlets.Unicode(help="The title above the picture.")
    layer = Index(0, 0, lambda self: self.shape[0] - 1, help="The layer shown.")
    cell = traitlets.List([0, 0], help="Query and key of the chosen cell.")

    @traitlets.validate("cell")
    def _inside(self, proposal: dict[str, Any]) -> list[int]:
        return pair_inside(proposal["value"], self.shape[2:], "cell must be [query, key]")


def weights_traits(
    stacks: list[NDArray[np.float32]],
    query_tokens: Sequence[str] | None,
    key_tokens: Sequence[str] | None,
    title: str,
    head_names: Sequence[str] | None,
    layer_names: Sequence[str] | None,
) -> dict[str, Any]:
    """Return the traits of a ``WeightsWidget`` for stacks of one shape, one after the other."""
    check_instance(str, title=title)
    layers, heads, queries, keys = stacks[0].shape
    data, encoding = encode_values(np.stack(stacks))
    return {
        "data": data,
        "encoding": encoding,
        "shape": [layers, heads, queries, keys],
        "query_tokens": as_names(query_tokens, queries, "query_tokens", "query"),
        "key_tokens": as_names(key_tokens, keys, "key_tokens", "key"),
        "head_names": as_names(head_names, heads, "head_names", "head")
        or [f"Head {i}" for i in range(heads)],
        "layer_names": as_names(layer_names, layers, "layer_names", "layer")
        or [f"Layer {i}" for i in range(layers)],
        "title": title,
    }
