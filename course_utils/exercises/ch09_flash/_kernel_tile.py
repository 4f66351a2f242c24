"""One tile of the flash kernel with exchangeable steps: a mistake exchanges one of them."""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from course_utils.attention.flash_launch import Tiling, Tilings, flash_forward
from course_utils.attention.triton_interpreter import interpreted, tl
from course_utils.checking.exercise import Function
from course_utils.checking.inputs import normal

Make = Callable[[torch.Generator], tuple[Any, ...]]
INF = float("inf")
LOG2_E = math.log2(math.e)


def hide(scores: Any, columns: Any, limit: Any) -> Any:
    """Hide the keys from `limit` on, as it should be done."""
    return tl.where(columns[None, :] < limit[:, None], scores, -INF)


def build(
    score: Function = lambda q, k: tl.dot(q, tl.trans(k)),
    factor: Function = lambda scores, scale: scores * scale,
    hide: Function = hide,
    top: Function = lambda m, scores, scale: tl.maximum(m, tl.max(scores, 1)),
    power: Function = lambda x: tl.exp2(x),
    after: Function = lambda weights, columns, limit: weights,
    shrink: Function = lambda m, m_new: tl.exp2(m - m_new),
    total: Function = lambda l, weights, shrink: l * shrink + tl.sum(weights, 1),
    gather: Function = lambda acc, weights, v, shrink: (
        acc * shrink[:, None] + tl.dot(weights.to(v.dtype), v)
    ),
    finish: Function = lambda m, m_new, l, acc: (m_new, l, acc),
) -> Function:
    """Return a tile with some of its steps exchanged.

    Args:
        score: The unscaled scores from q and k.
        factor: What the scale does to them.
        hide: What the limit does to them; not called where there is none.
        top: The new maximum from the old one, the scores and the scale.
        power: What makes weights of scores less the maximum.
        after: What the limit does to the weights.
        shrink: What the state so far is multiplied by, from the old and the new maximum.
        total: The new sum from the old one, the weights and the factor.
        gather: The new output from the old one, the weights, v and the factor.
        finish: What is returned, from the old and the new maximum, the sum and the output.
    """

    def tile(
        m: Any, l: Any, acc: Any, q: Any, k: Any, v: Any, columns: Any, limit: Any, scale: Any
    ) -> Any:
        scores = factor(score(q, k), scale)
        if limit is not None:
            scores = hide(scores, columns, limit)
        m_new = top(m, scores, scale)
        weights = power(scores - m_new[:, None])
        if limit is not None:
            weights = after(weights, columns, limit)
        less = shrink(m, m_new)
        return finish(m, m_new, total(l, weights, less), gather(acc, weights, v, less))

    return tile


def in_tiles_of(block_q: int, block_k: int) -> Function:
    """Return how to use a tile: in the real kernel, which cuts queries and keys like this."""
    cut = Tilings(*[Tiling(block_q, block_k, 1, 1)] * 3)

    def run(fn: Function, query: Tensor, key: Tensor, value: Tensor, is_causal: bool) -> Any:
        tile, scale = _keeping_its_kind(interpreted(fn)), query.shape[-1] ** -0.5
        out, lse = flash_forward(query, key, value, scale, is_causal, cut, tile)
        return out, lse / LOG2_E

    return run


def _keeping_its_kind(tile: Function) -> Function:
    """Ask of a tile what the compiler asks of a loop: that what it carries keeps its type."""

    def checked(*given: Any) -> tuple[Any, ...]:
        made = tile(*given)
        if not isinstance(made, tuple | list) or len(made) != 3:
            raise TypeError("the function must return m, l and acc")
        for name, before, now in zip(("m", "l", "acc"), given, made, strict=False):
            if getattr(now, "type", None) != before.type:
                kind = getattr(now, "type", type(now).__name__)
                raise TypeError(f"{name} must stay {before.type} from tile to tile, got {kind}")
        return tuple(made)

    return checked


def made(queries: int, keys: int, d: int, is_causal: bool = False, dtype: str = "float32") -> Make:
    """Return a maker of query, key, value of one head, and of is_causal."""

    def make(g: torch.Generator) -> tuple[Any, ...]:
        shapes = ((queries, d), (keys, d), (keys, d))
        kind = getattr(torch, dtype)
        return *(normal(g, 1, 1, *shape, dtype=kind) for shape in shapes), is_causal

    return make


def at_levels(start: float, stop: float, keys: int, is_causal: bool = False) -> Make:
    """Return a maker of inputs whose scores lie around levels from start to stop, by key."""

    def make(g: torch.Generator) -> tuple[Any, ...]:
        query, key, value, _ = made(32, keys, 16)(g)
        query[..., 0], key[..., 0] = 4.0, torch.linspace(start, stop, keys)
        return query, key, value, is_causal

    return make
