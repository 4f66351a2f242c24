"""The split of a fused projection with exchangeable steps: a mistake exchanges one of them."""

from collections.abc import Callable
from typing import Any

from torch import Tensor

from course_utils.checking.exercise import Function

Parts = tuple[Any, ...]


def thirds(qkv: Tensor, num_heads: int) -> Parts:
    """Cut the last axis into queries, keys and values, as it should be done."""
    return qkv.chunk(3, dim=-1)


def heads(third: Tensor, num_heads: int) -> Tensor:
    """Make heads of one third, as it should be done."""
    batch, length, width = third.shape
    return third.reshape(batch, length, num_heads, width // num_heads).transpose(1, 2)


def build(
    cut: Callable[[Tensor, int], Parts] = thirds,
    split: Callable[[Tensor, int], Any] = heads,
    after: Callable[..., Any] = lambda query, key, value: (query, key, value),
) -> Function:
    """Return a split with some steps exchanged.

    Args:
        cut: Cuts the last axis into three.
        split: Makes heads of one third.
        after: What is returned of the three.
    """

    def wrong(qkv: Tensor, num_heads: int) -> Any:
        query, key, value = (split(part, num_heads) for part in cut(qkv, num_heads))
        return after(query, key, value)

    return wrong


def whole(arrange: Callable[[Tensor, int, int], Tensor]) -> Function:
    """Return a version that arranges all at once as (3, B, H, L, d_k), given H and d_k."""

    def wrong(qkv: Tensor, num_heads: int) -> Any:
        return tuple(arrange(qkv, num_heads, qkv.shape[-1] // 3 // num_heads).unbind(0))

    return wrong


def each(step: Callable[[Tensor], Any]) -> Function:
    """Return a version that does something more to all three."""
    return build(after=lambda *three: tuple(step(part) for part in three))


def some(step: Callable[[Tensor], Any], *which: int) -> Function:
    """Return a version that does something more to some of the three, by number."""

    def after(*three: Tensor) -> Parts:
        return tuple(step(part) if i in which else part for i, part in enumerate(three))

    return build(after=after)
