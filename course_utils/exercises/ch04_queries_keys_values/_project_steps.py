"""Three projections with exchangeable steps: a mistake exchanges one of them."""

from collections.abc import Callable
from typing import Any

from torch import Tensor

from course_utils.checking.exercise import Function

Three = tuple[Any, Any, Any]


def build(
    before: Callable[[Tensor], Tensor] = lambda x: x,
    pick: Callable[..., Three] = lambda W_q, W_k, W_v: (W_q, W_k, W_v),
    multiply: Callable[[Tensor, Tensor], Any] = lambda x, W: x @ W,
    after: Callable[..., Any] = lambda query, key, value: (query, key, value),
) -> Function:
    """Return three projections with some steps exchanged.

    Args:
        before: What is done to the sequence first.
        pick: Which matrix makes what.
        multiply: What a projection is.
        after: What is returned of the three.
    """

    def project(x: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor) -> Any:
        ready = before(x)
        return after(*(multiply(ready, W) for W in pick(W_q, W_k, W_v)))

    return project


def each(step: Callable[[Tensor], Any]) -> Function:
    """Return a version that does something more to all three."""
    return build(after=lambda query, key, value: (step(query), step(key), step(value)))


def one(step: Callable[[Tensor], Any], index: int) -> Function:
    """Return a version that does something more to one of the three, by number."""

    def some(*three: Tensor) -> tuple[Any, ...]:
        return tuple(step(part) if i == index else part for i, part in enumerate(three))

    return build(after=some)
