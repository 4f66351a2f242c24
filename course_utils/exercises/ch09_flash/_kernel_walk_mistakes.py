"""What goes wrong on the walk over tiles: what is there already, and what comes to it."""

from typing import Any

from course_utils.attention.triton_interpreter import tl
from course_utils.checking.exercise import Misconception
from course_utils.exercises.ch09_flash._kernel_tile import INF, build


def _sum_as_it_is(l: Any, weights: Any, shrink: Any) -> Any:
    return l + tl.sum(weights, 1)


def _out_as_it_is(acc: Any, weights: Any, v: Any, shrink: Any) -> Any:
    return acc + tl.dot(weights.to(v.dtype), v)


def _all_shrunk(acc: Any, weights: Any, v: Any, shrink: Any) -> Any:
    return (acc + tl.dot(weights.to(v.dtype), v)) * shrink[:, None]


def _new_shrunk(acc: Any, weights: Any, v: Any, shrink: Any) -> Any:
    return acc + tl.dot((weights * shrink[:, None]).to(v.dtype), v)


def _all_of_the_sum_shrunk(l: Any, weights: Any, shrink: Any) -> Any:
    return (l + tl.sum(weights, 1)) * shrink


def _new_of_the_sum_shrunk(l: Any, weights: Any, shrink: Any) -> Any:
    return l + tl.sum(weights, 1) * shrink


def _along_the_width(acc: Any, weights: Any, v: Any, shrink: Any) -> Any:
    return acc * shrink[None, :] + tl.dot(weights.to(v.dtype), v)


def _tile_only(acc: Any, weights: Any, v: Any, shrink: Any) -> Any:
    return tl.dot(weights.to(v.dtype), v)


def _queries_and_keys_swapped(acc: Any, weights: Any, v: Any, shrink: Any) -> Any:
    return acc * shrink[:, None] + tl.dot(tl.trans(weights).to(v.dtype), v)


def _under_its_own_maximum(m: Any, l: Any, acc: Any, q: Any, k: Any, *rest: Any) -> Any:
    """Take the weights under the tile's maximum, and rescale as if under the one of all."""
    start = tl.zeros_like(m) - INF
    here, _, _ = build()(start, l, acc, q, k, *rest)
    m_new = tl.maximum(m, here)
    return build(
        top=lambda m, scores, scale: here,
        shrink=lambda m, here: tl.exp2(m - m_new),
        finish=lambda m, here, l, acc: (m_new, l, acc),
    )(m, l, acc, q, k, *rest)


WALKS = (
    Misconception(
        "the state returned as it came",
        lambda m, l, acc, *tile: (m, l, acc),
        "m, l and acc go out as they came in: nothing of this tile is in them, and the kernel "
        "divides 0 by 0 at its end.",
    ),
    Misconception(
        "nothing rescaled",
        build(gather=_out_as_it_is, total=_sum_as_it_is),
        "What was gathered under an older maximum is kept as it is. When the maximum moves, what "
        "are the old sum and the old output worth?",
    ),
    Misconception(
        "acc not rescaled",
        build(gather=_out_as_it_is),
        "l is brought to the new maximum, acc is not. Both are sums of the same powers: what holds "
        "for one holds for the other.",
    ),
    Misconception(
        "l not rescaled",
        build(total=_sum_as_it_is),
        "acc is brought to the new maximum, l is not. Both are sums of the same powers: what holds "
        "for one holds for the other.",
    ),
    Misconception(
        "rescaled after adding",
        build(gather=_all_shrunk, total=_all_of_the_sum_shrunk),
        "The new tile is shrunk along with the old ones. Its powers were taken with the new "
        "maximum already: which part still stands under the old one?",
        also=(
            build(gather=_all_shrunk),
            build(total=_all_of_the_sum_shrunk),
            build(gather=_new_shrunk, total=_new_of_the_sum_shrunk),
            build(gather=_new_shrunk),
            build(total=_new_of_the_sum_shrunk),
        ),
    ),
    Misconception(
        "no number from the start",
        build(shrink=lambda m, m_new: tl.exp2(m_new - m)),
        "All is NaN from the first tile on. m begins at -inf and l at 0: what is the factor on the "
        "old state then? It must be 0, and never above 1: which maximum is subtracted from which?",
        also=(
            build(top=lambda m, scores, scale: tl.minimum(m, tl.min(scores, 1))),
            build(top=lambda m, scores, scale: tl.minimum(m, tl.max(scores, 1))),
        ),
    ),
    Misconception(
        "the factor squared",
        build(shrink=lambda m, m_new: tl.exp2(m - m_new) * tl.exp2(m - m_new)),
        "The old state is shrunk twice in a tile. Once for the new maximum is enough.",
    ),
    Misconception(
        "the factor along the width",
        build(gather=_along_the_width),
        "acc is shrunk column by column, with the factors of the queries. acc is (queries, d): "
        "does the factor lie down or across?",
    ),
    Misconception(
        "maximum of the tile only",
        build(top=lambda m, scores, scale: tl.max(scores, 1)),
        "The new maximum is that of this tile alone, and forgets the tiles before. Where scores "
        "fall from tile to tile the factor overflows; where a row sees nothing it is -inf.",
    ),
    Misconception(
        "the weights under the tile's own maximum",
        _under_its_own_maximum,
        "The old state is brought to the new maximum, the new tile's powers stand under the "
        "maximum of the tile. All must stand under one and the same.",
    ),
    Misconception(
        "the maximum never below 0",
        build(top=lambda m, scores, scale: tl.maximum(tl.maximum(m, 0.0), tl.max(scores, 1))),
        "The maximum is at least 0. Where all scores of a row are far below, its powers all vanish "
        "and the row is 0 divided by 0.",
    ),
    Misconception(
        "the old maximum returned",
        build(finish=lambda m, m_new, l, acc: (m, l, acc)),
        "l and acc stand under the new maximum, and the old one is returned with them. What will "
        "the next tile think that they stand under?",
    ),
    Misconception(
        "the earlier tiles forgotten",
        build(gather=_tile_only, total=lambda l, weights, shrink: tl.sum(weights, 1)),
        "Only the last tile is left in the result. What is there already is to be kept, under the "
        "new maximum.",
        also=(
            build(gather=_tile_only),
            build(total=lambda l, weights, shrink: tl.sum(weights, 1)),
        ),
    ),
    Misconception(
        "the state returned in another order",
        build(finish=lambda m, m_new, l, acc: (l, m_new, acc)),
        "Maximum and sum come back in each other's place. The order is m, l, acc.",
    ),
    Misconception(
        "the weights transposed",
        build(gather=_queries_and_keys_swapped),
        "The weights were turned before they met the values. They are (queries, keys), and v is "
        "(keys, d): what do two tiles need to be multiplied?",
    ),
)
