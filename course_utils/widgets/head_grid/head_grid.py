"""The picture of chapter 05: all heads side by side, and what the output loses without some."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import traitlets

from course_utils.widgets.traits import Items
from course_utils.widgets.weights import (
    WeightsWidget,
    as_stack,
    encode_values,
    pair_inside,
    weights_traits,
)


class HeadGrid(WeightsWidget, page="head_grid"):
    """The widget that ``head_grid`` makes; its traits follow what the reader chooses."""

    parts = traitlets.Bytes(help="Each head's part of the output; may be empty.")
    parts_encoding = traitlets.Enum(("float32", "float16"), help="How to read them.")
    off = Items(help="The heads that are off, each as [layer, head].")

    @traitlets.validate("off")
    def _heads(self, proposal: dict[str, Any]) -> list[list[int]]:
        rule = "off must hold [layer, head]"
        return [pair_inside(one, self.shape[:2], rule) for one in proposal["value"]]

    def __repr__(self) -> str:
        layers, heads, queries, keys = self.shape
        parts = [f"{layers} layers"] * (layers > 1) + [f"{heads} heads", f"{queries} x {keys}"]
        return f"HeadGrid({', '.join(parts)})"


def head_grid(
    weights: Any,
    query_tokens: Sequence[str] | None = None,
    key_tokens: Sequence[str] | None = None,
    *,
    contributions: Any = None,
    title: str = "",
    head_names: Sequence[str] | None = None,
    layer_names: Sequence[str] | None = None,
) -> HeadGrid:
    """Show all heads of a layer at once, with one cell pointed at in all of them.

    Given the heads' contributions, each head can be switched off, and bars show how far the output
    of each position moves: the length of what is missing, as a share of the length of the sum of
    all heads. In a model of several layers that is the layer's own output; later layers are not
    computed again.

    Args:
        weights: (L, S), (H, L, S) or (layers, H, L, S): tensor, array or nested lists. Rows are
            queries.
        query_tokens: One string per row; positions when None.
        key_tokens: One string per column; positions when None.
        contributions: What each head adds to the output, (..., L, d) with the leading axes of
            `weights`: its own output times its rows of W_o. None leaves the switches out.
        title: Stands above the picture.
        head_names: One string per head; "Head 0", "Head 1", ... when None.
        layer_names: One string per layer; "Layer 0", "Layer 1", ... when None.
    """
    stack = as_stack(weights)
    parts, parts_encoding = _encode_parts(contributions, stack.shape)
    return HeadGrid(
        **weights_traits([stack], query_tokens, key_tokens, title, head_names, layer_names),
        parts=parts,
        parts_encoding=parts_encoding,
    )


def _encode_parts(contributions: Any, shape: tuple[int, ...]) -> tuple[bytes, str]:
    """Return the contributions as bytes and how to read them; nothing where there are none."""
    if contributions is None:
        return b"", "float32"
    parts = as_stack(contributions, "contributions")
    if parts.shape[:3] != shape[:3]:
        raise ValueError(
            "contributions must have the weights' layers, heads and queries, "
            f"{shape[:3]}, got {parts.shape[:3]}"
        )
    if not np.isfinite(parts).all():
        raise ValueError("contributions must be finite numbers")
    return encode_values(parts)
