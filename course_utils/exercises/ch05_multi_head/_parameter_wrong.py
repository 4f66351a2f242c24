"""The count of what multi-head attention learns, with exchangeable parts."""

from collections.abc import Callable
from typing import Any

from course_utils.checking.exercise import Function, Misconception
from course_utils.measure import mha_parameters

_SIZES = ((35, 5), (22, 11), (6, 1), (5, 5))


def build(
    matrices: Callable[[int, int], Any] = lambda d_model, num_heads: 4 * d_model * d_model,
    biases: Callable[[int, int], Any] = lambda d_model, num_heads: 4 * d_model,
    reads: Callable[[bool], bool] = bool,
    finish: Callable[[Any], Any] = lambda total: total,
) -> Function:
    """Return a count with some of its parts exchanged.

    Args:
        matrices: What the four matrices hold.
        biases: What the biases hold, if there are any.
        reads: What is made of `bias`.
        finish: What is made of the total.
    """

    def wrong(d_model: int, num_heads: int, bias: bool) -> Any:
        total = matrices(d_model, num_heads)
        return finish(total + (biases(d_model, num_heads) if reads(bias) else 0))

    return wrong


def matrices_by(count: Callable[[int, int, int], Any]) -> tuple[Function, ...]:
    """Return counts with wrong matrices from d_model, num_heads and d_k, and several biases."""

    def matrices(d_model: int, num_heads: int) -> Any:
        return count(d_model, num_heads, d_model // num_heads)

    return _kept(
        build(matrices=matrices),
        build(matrices=matrices, biases=lambda d_model, num_heads: 0),
        build(matrices=matrices, biases=lambda d_model, num_heads: 3 * d_model),
        build(matrices=matrices, biases=lambda d_model, num_heads: d_model),
        build(matrices=matrices, biases=lambda d_model, num_heads: 4 * (d_model // num_heads)),
        build(matrices=matrices, biases=lambda d_model, num_heads: 4 * num_heads * d_model),
    )


def biases_by(count: Callable[[int, int, int], Any]) -> tuple[Function, ...]:
    """Return a count with wrong biases from d_model, num_heads and d_k."""
    return _kept(build(biases=lambda d_model, h: count(d_model, h, d_model // h)))


def _kept(*versions: Function) -> tuple[Function, ...]:
    """Leave out what happens to be right."""
    return tuple(v for v in versions if any(_is_wrong(v, *sizes) for sizes in _SIZES))


def _is_wrong(version: Function, d_model: int, num_heads: int) -> bool:
    given = [(d_model, num_heads, bias) for bias in (False, True)]
    return any(version(*one) != mha_parameters(*one) for one in given)


def mistake(name: str, says: str, *groups: tuple[Function, ...]) -> Misconception:
    """Return the misconception whose versions are those of all groups."""
    versions = [version for group in groups for version in group]
    return Misconception(name, versions[0], says, also=tuple(versions[1:]))
