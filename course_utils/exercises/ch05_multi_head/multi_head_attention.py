"""Exercise: the whole of multi-head attention."""

from typing import Any

from torch import Tensor

from course_utils.attention import multi_head_attention
from course_utils.checking.exercise import Case, Exercise, Misconception, Property
from course_utils.checking.laws import is_other
from course_utils.exercises.ch03_scaled_dot_product._attention import scale_that_explains
from course_utils.exercises.ch05_multi_head._between_mistakes import BETWEEN
from course_utils.exercises.ch05_multi_head._cut_mistakes import CUTS
from course_utils.exercises.ch05_multi_head._head_fill_mistakes import FILLS
from course_utils.exercises.ch05_multi_head._head_mask_mistakes import HEAD_MASKS
from course_utils.exercises.ch05_multi_head._head_mistakes import HEADS
from course_utils.exercises.ch05_multi_head._inside_mistakes import INSIDE
from course_utils.exercises.ch05_multi_head._multi_head import inside
from course_utils.exercises.ch05_multi_head._multi_head_inputs import (
    against_the_mask,
    empty_for_all,
    empty_in_one_head,
    empty_rows,
    empty_sequence,
    far_below,
    low_precision,
    made,
    self_attention,
    strided_inputs,
    with_mask,
)
from course_utils.exercises.ch05_multi_head._projection_mistakes import PROJECTIONS
from course_utils.exercises.ch05_multi_head._way_mistakes import WAY


def _some_scale(args: tuple[Any, ...], got: Tensor) -> bool:
    if args[1].shape[1] < 2 or not is_other(got, multi_head_attention(*args)):
        return False

    def result(scale: float) -> Tensor:
        out: Tensor = inside(factor=lambda q, k, v: scale)(*args)
        return out

    return scale_that_explains(result, got.detach())


def _empty_but_not_zero(args: tuple[Any, ...], out: Tensor) -> str | None:
    """Where no head may see a key there is nothing to hand over."""
    query, key, num_heads = args[0], args[1], args[7]
    if len(args) < 9:
        return None
    mask = args[8].expand(len(query), num_heads, query.shape[1], key.shape[1])
    wrong = (~mask.any(-1).any(1) & (out != 0).any(-1)).nonzero()
    if not len(wrong):
        return None
    return f"At {wrong[0].tolist()} no head may see a key, but the output is not zero there."


_OTHER_SCALE = Misconception(
    "another scale than 1/√d_k",
    inside(factor=lambda q, k, v: 1 / 8),
    "The weights are those of scores times another number than 1/√d_k. Is the scale computed from "
    "the width of these heads, or does it come from elsewhere?",
    fits=_some_scale,
)

EXERCISE = Exercise(
    name="multi_head_attention",
    chapter=5,
    signature="multi_head_attention(query, key, value, W_q, W_k, W_v, W_o, num_heads, "
    "attn_mask=None)",
    asks="Project, attend in every head on its own, lay the heads side by side, mix them with W_o.",
    reference=multi_head_attention,
    minutes=20,
    difficulty=3,
    importance=5,
    cases=(
        Case("2 sequences, one head, 3 queries, 4 keys", made(2, 1, 3, 4, 6), gradient="equal"),
        Case("2 sequences, 3 heads, 5 queries, 7 keys", made(2, 3, 5, 7, 4), gradient="equal"),
        Case("as many sequences, heads, queries and keys", made(3, 3, 3, 3, 5)),
        Case("self-attention: the same tensor three times", self_attention),
        Case("as many sequences as heads", made(4, 4, 3, 5, 2)),
        Case("more queries than keys", made(3, 2, 8, 5, 4)),
        Case("heads of width 1", made(2, 4, 3, 5, 1)),
        Case("one query: a decoder's step", made(2, 3, 1, 6, 4)),
        Case("one sequence, one query, one key", made(1, 2, 1, 1, 3)),
        Case("4 heads of width 16", made(2, 4, 5, 6, 16)),
        Case("scores of thousands", made(2, 3, 4, 6, 5, size=60.0)),
        Case(
            "a mask of shape (4, 4), as many heads as positions",
            with_mask(4, 4, batch=2, num_heads=4, queries=4, keys=4, d_k=3),
        ),
        Case("a mask of shape (5, 7) for all", with_mask(5, 7), gradient="equal"),
        # Before the shapes that tell sequences from heads: a mask read the wrong way gives numbers
        # here, and can be named by them.
        Case(
            "a mask for each head, as many sequences as heads",
            with_mask(3, 4, 6, batch=3, queries=4, keys=6),
        ),
        Case(
            "a mask for each sequence, as many heads as sequences",
            with_mask(3, 1, 4, 6, batch=3, queries=4, keys=6),
        ),
        Case("a mask of shape (3, 5, 7), one for each head", with_mask(3, 5, 7)),
        Case("a mask of shape (2, 1, 5, 7), one for each sequence", with_mask(2, 1, 5, 7)),
        Case("a mask of shape (2, 1, 1, 7), as for padding", with_mask(2, 1, 1, 7)),
        Case("a mask of shape (2, 3, 5, 7), one for each pair", with_mask(2, 3, 5, 7)),
        Case("hidden keys with by far the best scores", against_the_mask),
        Case("all scores far below zero", far_below),
        Case("a query that may see nothing", empty_rows, gradient="equal"),
        Case("a mask of shape (5, 7) with an empty row", empty_for_all, gradient="finite"),
        Case("a query that may see nothing in some heads", empty_in_one_head, gradient="equal"),
        Case("a sequence whose keys are all hidden", empty_sequence),
        Case("inputs that do not lie in memory row by row", strided_inputs),
        Case("float32", made(3, 2, 5, 7, 24, dtype="float32")),
        Case("bfloat16 with a mask", low_precision, tolerance=0.3),
    ),
    misconceptions=(
        *WAY,
        *PROJECTIONS,
        *BETWEEN,
        *CUTS,
        *HEADS,
        *INSIDE,
        _OTHER_SCALE,
        *FILLS,
        *HEAD_MASKS,
    ),
    properties=(
        Property("a query that may see nothing in any head gives zeros", _empty_but_not_zero),
    ),
    hints=(
        "You have written all parts already: a product, the split, attention, the merge, a "
        "product. In which order?",
        "Attention does not mind leading axes: to (B, H, L, d_k) a head is one more of them. So "
        "there is no loop over heads.",
        "The scores have the shape (B, H, L, S), and shapes line up from the right. Does any of "
        "the masks (L, S), (H, L, S) and (B, 1, L, S) need help?",
        "The scale is that of one head: d_k is the last axis after the split. A query that may see "
        "nothing gives zeros in its head, before the heads meet.",
        "In order: `query @ W_q`, `key @ W_k`, `value @ W_v`; split all three; your attention with "
        "the mask; merge; times `W_o`.",
    ),
)
