"""Merges of heads with exchangeable steps: a mistake exchanges one of them."""

from typing import Any

from torch import Tensor

from course_utils.checking.exercise import Function


def build(
    turn: Any = lambda heads: heads.transpose(1, 2),
    lay: Any = lambda turned, heads: turned.flatten(-2),
) -> Function:
    """Return a merge with another order of the axes, or another way to lay two of them in one."""
    return lambda heads: lay(turn(heads), heads)


def permuted(*order: int) -> Function:
    """Return a merge that puts the axes (B, H, L, d_k) in this order first."""
    return build(lambda heads: heads.permute(*order))


def reshaped(*order: int) -> Function:
    """Return a merge that does so, and then forces the shape (B, L, H d_k)."""
    return build(
        lambda heads: heads.permute(*order), lambda turned, heads: turned.reshape(shape(heads))
    )


def shape(heads: Tensor) -> tuple[int, int, int]:
    """Return the shape that is asked for."""
    return heads.shape[0], heads.shape[2], heads.shape[1] * heads.shape[3]


def turned_twice(heads: Tensor) -> Tensor:
    """Force the shape of the transpose, and then transpose as well."""
    return heads.reshape(heads.transpose(1, 2).shape).transpose(1, 2).reshape(shape(heads))


def finished(finish: Any) -> Function:
    """Return a merge with something done to its result."""
    return build(lay=lambda turned, heads: finish(turned.flatten(-2)))


def tiled(one: Any) -> Function:
    """Return a merge that repeats what `one` makes of all heads, once for each of them."""
    return lambda heads: one(heads).repeat(1, 1, heads.shape[1])
