"""Cross-covariance attention with exchangeable steps: a mistake exchanges one of them."""

from collections.abc import Callable
from typing import Any

from torch import Tensor
from torch.nn import functional as F

from course_utils.checking.exercise import Function


def unit(x: Tensor) -> Tensor:
    """Bring every feature to length 1 over the tokens."""
    return F.normalize(x, dim=-2)


def same(x: Tensor) -> Tensor:
    """Change nothing."""
    return x


def build(
    of_query: Callable[[Tensor], Tensor] = unit,
    of_key: Callable[[Tensor], Tensor] = unit,
    compare: Callable[[Tensor, Tensor], Tensor] = lambda q, k: q.mT @ k,
    sharpen: Callable[..., Tensor] = lambda scores, t, q: scores * t,
    turn: Callable[[Tensor], Tensor] = lambda scores: scores.softmax(-1),
    take: Callable[..., Any] = lambda w, v, t: v @ w.mT,
) -> Function:
    """Return cross-covariance attention with some steps exchanged.

    Args:
        of_query: The query, made ready.
        of_key: The key, made ready.
        compare: The scores from both.
        sharpen: What temperature does to the scores, given the query too.
        turn: What makes weights of scores.
        take: The output from weights, value and temperature.
    """

    def wrong(query: Tensor, key: Tensor, value: Tensor, temperature: Any) -> Any:
        scores = sharpen(compare(of_query(query), of_key(key)), temperature, query)
        return take(turn(scores), value, temperature)

    return wrong


def both(ready: Callable[[Tensor], Tensor]) -> Function:
    """Return a version that makes queries and keys ready in the same other way."""
    return build(of_query=ready, of_key=ready)
