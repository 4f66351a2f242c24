"""An interactive heatmap of attention weights, for notebooks and for pages without a kernel."""

from collections.abc import Sequence
from typing import Any

import traitlets

from course_utils.widgets.traits import Choice, Index
from course_utils.widgets.weights import (
    WeightsWidget,
    as_names,
    as_pair,
    pair_inside,
    weights_traits,
)

_RANGES = ("auto", "unit", "all", "head")
_VIEWS = ("first", "second", "side", "difference")


class Heatmap(WeightsWidget, page="heatmap"):
    """The widget that ``heatmap`` makes; its traits follow what the reader chooses."""

    pair_names = traitlets.List(
        traitlets.Unicode(),
        help="Names of the two stacks where `data` holds two, one after the other.",
    )
    color_range = Choice(_RANGES, "auto", help="What the colours span.")
    head = Index(0, 0, lambda self: self.shape[1] - 1, help="The head shown.")
    view = traitlets.Enum(_VIEWS, "first", help="One map, two, or their difference.")
    partner = traitlets.List([0, 0], help="Layer and head compared with, where there is one stack.")

    @traitlets.validate("partner")
    def _other_map(self, proposal: dict[str, Any]) -> list[int]:
        return pair_inside(proposal["value"], self.shape[:2], "partner must be [layer, head]")

    def __repr__(self) -> str:
        layers, heads, queries, keys = self.shape
        parts = [f"{layers} layers"] * (layers > 1) + [f"{heads} heads"] * (heads > 1)
        parts += [f"{queries} x {keys}", *filter(None, [" and ".join(self.pair_names)])]
        return f"Heatmap({', '.join(parts)})"


def heatmap(
    weights: Any,
    query_tokens: Sequence[str] | None = None,
    key_tokens: Sequence[str] | None = None,
    *,
    other: Any = None,
    pair_names: Sequence[str] = ("first", "second"),
    title: str = "",
    head_names: Sequence[str] | None = None,
    layer_names: Sequence[str] | None = None,
    color_range: str = "auto",
    view: str | None = None,
) -> Heatmap:
    """Show weights as a heatmap to hover, or to walk through with the arrow keys.

    Two maps are compared side by side or as a difference: two heads of `weights`, or the same head
    of `weights` and `other`. Up to 65,536 values are sent exactly (float32), more of them as
    float16: three digits.

    Args:
        weights: (L, S), (H, L, S) or (layers, H, L, S): tensor, array or nested lists. Rows are
            queries. NaN and infinities are hatched.
        query_tokens: One string per row; positions when None.
        key_tokens: One string per column; positions when None.
        other: Weights of the same shape to compare with, such as those after training.
        pair_names: What `weights` and `other` are, in this order.
        title: Stands above the picture and in saved files.
        head_names: One string per head; "Head 0", "Head 1", ... when None.
        layer_names: One string per layer; "Layer 0", "Layer 1", ... when None.
        color_range: "unit" spans 0 to 1; "all" and "head" end at the largest of all and of the
            head shown; "auto" is "unit" where a weight reaches 0.5. Outside 0..1 all span the data.
        view: "first", "second" (of `other`), "side" or "difference", second less first; None is
            "side" where there is `other`, else "first".
    """
    stacks = as_pair(weights, other)
    layers, heads = stacks[0].shape[:2]
    view = view or ("first" if other is None else "side")
    known = [one for one in _VIEWS if other is not None or one != "second"]
    known = known if len(stacks) * layers * heads > 1 else known[:1]
    if view not in known:
        raise ValueError(f"view must be one of {', '.join(known)} here, got {view!r}")
    names = as_names(pair_names, 2, "pair_names", "stack")
    return Heatmap(
        **weights_traits(stacks, query_tokens, key_tokens, title, head_names, layer_names),
        pair_names=(names or []) if other is not None else [],
        color_range=color_range,
        view=view,
        partner=[0, 1] if heads > 1 else [min(1, layers - 1), 0],
    )
