"""Exercise: the whole of scaled dot-product attention, with a mask and a scale."""

from typing import Any

from torch import Tensor

from course_utils.attention import scaled_dot_product_attention
from course_utils.checking.exercise import Case, Exercise, Property
from course_utils.exercises.ch03_scaled_dot_product._attention import build, scale_that_explains
from course_utils.exercises.ch03_scaled_dot_product._attention_inputs import (
    against_the_mask,
    empty_row,
    low_precision,
    made,
    strided_inputs,
    with_mask,
    with_scale,
)
from course_utils.exercises.ch03_scaled_dot_product._empty_row_mistakes import EMPTY_ROWS
from course_utils.exercises.ch03_scaled_dot_product._mask_mistakes import MASK
from course_utils.exercises.ch03_scaled_dot_product._scale_mistakes import scale_mistakes
from course_utils.exercises.ch03_scaled_dot_product._value_mistakes import VALUES, WAY
from course_utils.exercises.ch03_scaled_dot_product._weight_mistakes import softmax_mistakes


def _outside_the_values(args: tuple[Any, ...], out: Tensor) -> str | None:
    """An average never leaves the range of what is averaged."""
    value, mask = args[2].double(), args[3] if len(args) > 3 else None
    low, high = value.amin(-2, keepdim=True), value.amax(-2, keepdim=True)
    if mask is not None:
        low, high = low.clamp(max=0.0), high.clamp(min=0.0)
    room = 0.05 * (high - low) + 1e-6
    wrong = ((out.double() < low - room) | (out.double() > high + room)).nonzero()
    if not len(wrong):
        return None
    where = tuple(int(i) for i in wrong[0])
    return (
        f"The output at index {list(where)} is {out[where].item():.4g}, outside the range of the "
        "values that it should average."
    )


def _some_scale(args: tuple[Any, ...], got: Tensor) -> bool:
    query, key, value = args[:3]
    mask = args[3] if len(args) > 3 else None
    if got.shape != (*query.shape[:-1], value.shape[-1]) or key.shape[-2] < 2:
        return False

    def result(scale: float) -> Tensor:
        return scaled_dot_product_attention(query, key, value, mask, scale)

    return scale_that_explains(result, got.detach())


EXERCISE = Exercise(
    name="scaled_dot_product_attention",
    chapter=3,
    signature="scaled_dot_product_attention(query, key, value, attn_mask=None, scale=None)",
    asks="Average the values with the attention weights, over the keys that the mask allows.",
    reference=scaled_dot_product_attention,
    minutes=15,
    difficulty=3,
    importance=5,
    cases=(
        Case("3 queries, 3 keys, all widths 4", made(queries=3, keys=3, d_k=4, d_v=4)),
        Case("2 queries, 3 keys, no mask", made(queries=2, keys=3, d_k=4, d_v=5), gradient="equal"),
        Case(
            "a batch of shape (2, 3): 5 queries, 7 keys, no mask",
            made(2, 3, queries=5, keys=7, d_k=6, d_v=4),
            gradient="equal",
        ),
        Case("scale=0.3", with_scale(0.3)),
        Case("scale=0.0: a plain mean", with_scale(0.0)),
        Case("scale=2.5", with_scale(2.5)),
        Case("scale=-0.6", with_scale(-0.6)),
        Case("scale=2, a whole number", with_scale(2)),
        Case("more queries than keys", made(2, queries=8, keys=3, d_k=5, d_v=6)),
        Case("scores of thousands", made(2, queries=3, keys=6, d_k=9, d_v=4, size=60.0)),
        Case(
            "a mask of shape (5, 7) for all",
            with_mask((5, 7), 2, 3, queries=5, keys=7, d_k=6, d_v=4),
            gradient="equal",
        ),
        Case(
            "a mask of shape (2, 1, 1, 7), one for each sequence",
            with_mask((2, 1, 1, 7), 2, 3, queries=5, keys=7, d_k=6, d_v=4),
        ),
        Case(
            "a mask of shape (3, 4, 6), one for each head",
            with_mask((3, 4, 6), 2, 3, queries=4, keys=6, d_k=5, d_v=2),
        ),
        Case(
            "a mask of shape (4, 4), and 4 everywhere: all fits any way round",
            with_mask((4, 4), 4, 4, queries=4, keys=4, d_k=4, d_v=4),
        ),
        Case("hidden keys with by far the best scores", against_the_mask),
        Case("a query that may see nothing", empty_row, gradient="equal"),
        Case("a mask and scale=0.7", with_scale(0.7, masked=True)),
        Case("a mask and scale=0.0", with_scale(0.0, masked=True)),
        Case("a mask and scale=-0.6", with_scale(-0.6, masked=True)),
        Case("one query, one key", made(2, queries=1, keys=1, d_k=3, d_v=4)),
        Case("inputs that do not lie in memory row by row", strided_inputs),
        Case("float32", made(2, queries=3, keys=5, d_k=16, d_v=7, dtype="float32")),
        Case("bfloat16 with a mask", low_precision),
    ),
    misconceptions=(
        *WAY,
        *scale_mistakes(build, _some_scale),
        *softmax_mistakes(build),
        *MASK,
        *EMPTY_ROWS,
        *VALUES,
    ),
    properties=(Property("the output is an average of values", _outside_the_values),),
    hints=(
        "You have the weights already. What is the matrix product of weights (L, S) and values "
        "(S, d_v)?",
        "The mask has to act before the softmax, on the scores. What score makes a weight exactly "
        "0, and leaves the others as if the key were not there?",
        "`masked_fill` writes where its mask is True; `attn_mask` is True where the query MAY "
        "attend. How do you turn one into the other?",
        "A row without any visible key is -inf everywhere. A softmax that gives zeros there needs "
        "no further care; with another one, set such rows to 0 before the NaN arises.",
        "In order: scores, scale, `masked_fill(~attn_mask, -inf)` if there is a mask, your stable "
        "softmax, times the values.",
    ),
)
