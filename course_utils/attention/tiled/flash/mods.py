"""Score modifications inside a flash kernel, in pieces that the compiler puts together.

A mod changes scores: a soft cap, then a penalty for distance. Spans hide keys. What a launch
leaves out is None at compile time, so it generates no code.

Source: Dong et al. 2024, Flex Attention: A Programming Model for Generating Optimized Attention
    Kernels, section 3, https://arxiv.org/abs/2412.05496; the cap: Gemma Team 2024, Gemma 2, section
    2, https://arxiv.org/abs/2408.00118; the penalty: Press et al. 2022, Train Short, Test Long,
    section 3, https://arxiv.org/abs/2108.12409
Ours / theirs: mod = score_mod;  low and limit = mask_mod, where a query sees an interval of keys
Differs: a mod returns its own derivative too, where FlexAttention lets autograd find it.
"""

# ruff: noqa: E741 (l is the papers' letter)
# mypy: allow-untyped-defs, allow-incomplete-defs, allow-untyped-decorators, allow-untyped-calls
from __future__ import annotations

from typing import Any, NamedTuple

from course_utils.triton_interpreter import constexpr, jit, tl

LOG2_E = constexpr(1.4426950408889634)
PRECISION = constexpr("ieee")  # float32 is computed as float32, not as the tensor cores' tf32


class Extras(NamedTuple):
    """Options of a launch: tensors, which a kernel is passed as pointers, and a number.

    Attributes:
        spans: Of the queries, int32 (2, L): query i sees the keys from spans[0, i] to spans[1, i],
            which is left out. Both rise with i, or stay.
        places: Each query's position among the keys, int32 (L,).
        slopes: What each head takes off a score for a step of distance, float32 (H,).
        cap: What no score exceeds.
    """

    spans: Any = None
    places: Any = None
    slopes: Any = None
    cap: Any = None


@jit
def capped(scores, place, columns, slope, cap):
    """Return cap · tanh(scores / cap), and its derivative."""
    tanh = 1.0 - 2.0 / (tl.exp2(scores * (2.0 * LOG2_E / cap)) + 1.0)
    return cap * tanh, 1.0 - tanh * tanh


@jit
def sloped(scores, place, columns, slope, cap):
    """Return the scores minus slope · distance, and the derivative."""
    return scores - slope * tl.abs(place - columns), 1.0


@jit
def capped_then_sloped(scores, place, columns, slope, cap):
    """Return what both make of the scores, the cap first, and the derivative."""
    scores, factor = capped(scores, place, columns, slope, cap)
    scores, _ = sloped(scores, place, columns, slope, cap)
    return scores, factor


MODS = {(False, False): None, (True, False): capped, (False, True): sloped,
        (True, True): capped_then_sloped}  # fmt: skip


def mod_of(extras: Extras) -> Any:
    """Return what changes the scores, or None: the piece with which a kernel is compiled."""
    return MODS[extras.cap is not None, extras.slopes is not None]


@jit
def changed(products, scale, mod: tl.constexpr, place, columns, slope, cap):
    """Return scores to base 2, and their derivative with respect to the scaled products."""
    if mod is None:
        scores, factor = products * (scale * LOG2_E), 1.0
    else:
        scores, factor = mod(products * scale, place, columns, slope, cap)
        scores = scores * LOG2_E
    return scores, factor


@jit
def changed_tile(
    m, l, acc, q, k, v, columns, low, limit, place, slope, cap, scale, mod: tl.constexpr
):  # fmt: skip
    """Do as `flash_forward_tile`, with a mod; row i sees keys from low[i], where that is given."""
    products = tl.dot(q, tl.trans(k), input_precision=PRECISION)
    scores, _ = changed(products, scale, mod, place[:, None], columns[None, :], slope, cap)
    if limit is not None:
        scores = tl.where(columns[None, :] < limit[:, None], scores, float("-inf"))
    if low is not None:
        scores = tl.where(columns[None, :] >= low[:, None], scores, float("-inf"))
    m_new = tl.maximum(m, tl.max(scores, 1))
    top = tl.where(m_new == float("-inf"), 0.0, m_new)  # a row may have seen nothing yet
    weights = tl.exp2(scores - top[:, None])
    shrink = tl.exp2(m - top)
    l = l * shrink + tl.sum(weights, 1)
    acc = acc * shrink[:, None]
    acc = tl.dot(weights.to(v.dtype), v, acc, input_precision=PRECISION)
    return m_new, l, acc


@jit
def forward_step(
    m, l, acc, start, low, limit, given, tile: tl.constexpr, mod: tl.constexpr,
    BLOCK_K: tl.constexpr, D: tl.constexpr, D_V: tl.constexpr,
):  # fmt: skip
    """Load the tile of keys and values that begins at start, and accumulate it."""
    q, key, value, batch, kv_head, place, slope, scale, extra = given
    columns = start + tl.arange(0, BLOCK_K)
    k = key.load([batch, kv_head, start, 0]).reshape(BLOCK_K, D)
    v = value.load([batch, kv_head, start, 0]).reshape(BLOCK_K, D_V)
    if mod is None and low is None:
        m, l, acc = tile(m, l, acc, q, k, v, columns, limit, scale * LOG2_E)
    else:
        m, l, acc = changed_tile(
            m, l, acc, q, k, v, columns, low, limit, place, slope, extra.cap, scale, mod
        )
    return m, l, acc


@jit
def read_place(extra, rows, num_queries):
    """Return these queries' positions among the keys."""
    place = rows
    if extra.places is not None:
        place = tl.load(extra.places + tl.minimum(rows, num_queries - 1))
    return place


@jit
def read_slope(extra, head):
    """Return the slope of a head."""
    slope = 0.0
    if extra.slopes is not None:
        slope = tl.load(extra.slopes + head)
    return slope


@jit
def read_span(spans, rows, length):
    """Return where the spans of these rows begin and end."""
    rows = tl.minimum(rows, length - 1)
    return tl.load(spans + rows), tl.load(spans + length + rows)


@jit
def tiles_of(spans, first, length, BLOCK_ROWS: tl.constexpr, BLOCK: tl.constexpr):
    """Return where the tiles that a tile of rows visits begin and end, and those it sees whole.

    A tile from begin to inner, or from whole to stop, is cut by some row's span; one from inner to
    whole by none.
    """
    last = tl.minimum(first + BLOCK_ROWS, length) - 1
    begin = tl.load(spans + first) // BLOCK * BLOCK
    stop = tl.load(spans + length + last)
    whole = tl.maximum(tl.load(spans + length + first) // BLOCK * BLOCK, begin)
    inner = (tl.load(spans + last) + BLOCK - 1) // BLOCK * BLOCK
    return begin, tl.maximum(tl.minimum(inner, whole), begin), whole, stop
