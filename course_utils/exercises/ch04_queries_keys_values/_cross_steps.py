"""Cross-attention with exchangeable steps: a mistake exchanges one of them."""

import math
from collections.abc import Callable
from typing import Any

from torch import Tensor

from course_utils.checking.exercise import Function
from course_utils.exercises.ch03_scaled_dot_product._attention import build as attention

Three = tuple[Tensor, Tensor, Tensor]


def _project(x: Tensor, context: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor) -> Three:
    return x @ W_q, context @ W_k, context @ W_v


def _root(x: Tensor, context: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor) -> float:
    return 1 / math.sqrt(W_q.shape[1])


def build(
    project: Callable[..., Three] = _project,
    scale: Callable[..., float] = _root,
    factor: Callable[..., float] | None = None,
    after: Callable[..., Any] = lambda out, *given: out,
    **steps: Any,
) -> Function:
    """Return cross-attention with some of its steps exchanged.

    Args:
        project: Query, key and value from the arguments.
        scale: The factor on the scores, from the arguments.
        factor: The factor on the scores, from query, key and value.
        after: What is returned, from the output and the arguments.
        steps: Further steps of attention.
    """

    def cross(x: Tensor, context: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor) -> Any:
        given = (x, context, W_q, W_k, W_v)
        used = factor or (lambda query, key, value: scale(*given))
        return after(attention(**steps, factor=used)(*project(*given)), *given)

    return cross


def picked(pick: Callable[..., tuple[Any, ...]]) -> Function:
    """Return a version that is right but for the arguments that it gives itself."""
    right = build()
    return lambda *given: right(*pick(*given))
