"""The picture of chapter 13: a trained classifier as a graph, and four rankings from it."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import traitlets

from course_utils.plain_validation import check_int, check_strings
from course_utils.widgets.traits import Choice, CourseWidget, Index, Number
from course_utils.widgets.weights import as_stack, pair_inside

METHODS = ("raw", "rollout", "flow", "gradient")
"""Raw weights, attention rollout, maximum flow, gradient attention."""

MAX_TOKENS, MAX_LAYERS = 24, 4


class ExplanationGraph(CourseWidget, page="explanation_graph"):
    """The widget that ``explanation_graph`` makes; its traits follow the controls."""

    tokens = traitlets.List(traitlets.Unicode(), help="The sentence, with its class token.")
    shape = traitlets.List(traitlets.Int(), help="Layers, heads, tokens.")
    weights = traitlets.Bytes(help="The weights, little-endian float32, row by row.")
    gradients = traitlets.Bytes(help="The score's slope in each weight, likewise.")
    importance = traitlets.List(
        traitlets.Float(), help="What the prediction loses without each token."
    )
    reader = traitlets.Int(0, help="The position whose state is classified.")
    title = traitlets.Unicode(help="The title above the picture.")
    method = Choice(METHODS, "flow", help="Which ranking is shown.")
    layer = Index(0, 0, lambda self: self.shape[0] - 1, help="The layer of the raw weights.")
    head = Index(-1, -1, lambda self: self.shape[1] - 1, help="Their head; -1 is the mean of all.")
    residual = Number(0.5, 0, 1, help="The residual's share in rollout and flow.")
    source = Index(0, 0, lambda self: self.shape[2] - 1, help="The chosen input token.")
    target = traitlets.List([1, 0], help="The node above: its layer from 1, and position.")

    @traitlets.validate("target")
    def _node(self, proposal: dict[str, Any]) -> list[int]:
        layers, _, length = self.shape
        rule = "target must be [layer from 1, position]"
        level, position = list(proposal["value"])
        return [pair_inside((level - 1, position), (layers, length), rule)[0] + 1, position]

    def __repr__(self) -> str:
        layers, heads, length = self.shape
        return f"ExplanationGraph({layers} layers, {heads} heads, {length} tokens)"


def explanation_graph(
    tokens: Sequence[str],
    layers: Any,
    gradients: Any,
    importance: Sequence[float],
    *,
    reader: int = 0,
    method: str = "flow",
    title: str = "",
) -> ExplanationGraph:
    """Show what a stack of attention layers says about a prediction, beside leave-one-out.

    Args:
        tokens: The sentence, from 2 to 24 tokens.
        layers: Weights (layers, H, L, L), the first layer first, of 1 to 4 layers.
        gradients: The slope of the predicted class's score in each of them.
        importance: What the prediction loses without each token, as `leave_one_out` says.
        reader: The position whose last state is classified; it is not ranked.
        method: One of ``METHODS``.
        title: Stands above the picture.
    """
    check_strings(tokens=tokens)
    check_int(reader=reader)
    if not 2 <= len(tokens) <= MAX_TOKENS:
        raise ValueError(f"tokens must be from 2 to {MAX_TOKENS}, got {len(tokens)}")
    if not 0 <= reader < len(tokens):
        raise ValueError(f"reader must be from 0 to {len(tokens) - 1}, got {reader}")
    stacks = {"layers": as_stack(layers, "layers"), "gradients": as_stack(gradients, "gradients")}
    length = len(tokens)
    for name, stack in stacks.items():
        same = stack.shape == stacks["layers"].shape
        if not same or stack.shape[2:] != (length, length) or len(stack) > MAX_LAYERS:
            raise ValueError(
                f"{name} must be (1 to {MAX_LAYERS} layers, H, {length}, {length}) as layers are, "
                f"got shape {stack.shape}"
            )
        if not np.isfinite(stack).all():
            raise ValueError(f"{name} must hold finite numbers, got NaN or inf")
    left_out = np.asarray(importance, dtype=np.float64)
    if left_out.shape != (length,) or not np.isfinite(left_out).all():
        raise ValueError(
            f"importance must hold a finite number for each of {length} tokens, "
            f"got {importance!r:.60}"
        )
    ranked = [i for i in range(length) if i != reader]
    weights, slopes = (stack.astype("<f4").tobytes() for stack in stacks.values())
    count, heads = stacks["layers"].shape[:2]
    return ExplanationGraph(
        tokens=list(tokens), shape=[count, heads, length], weights=weights, gradients=slopes,
        importance=left_out.tolist(), reader=reader, method=method, title=title, layer=count - 1,
        source=max(ranked, key=lambda i: left_out[i]), target=[count, reader],
    )  # fmt: skip
