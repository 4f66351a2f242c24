"""Exercise: the inner loop's body of the flash kernel, in Triton's language."""

from typing import Any

from torch import Tensor

from course_utils.attention.flash_kernels import flash_forward_tile
from course_utils.attention.triton_interpreter import lacking
from course_utils.checking.exercise import Case, Exercise, Property
from course_utils.exercises.ch09_flash._kernel_mask_mistakes import MASKS
from course_utils.exercises.ch09_flash._kernel_mistakes import SOFTMAXES
from course_utils.exercises.ch09_flash._kernel_tile import at_levels, in_tiles_of, made
from course_utils.exercises.ch09_flash._kernel_walk_mistakes import WALKS


def _outside_the_values(args: tuple[Any, ...], made: tuple[Tensor, Tensor]) -> str | None:
    """An average never leaves the range of what is averaged."""
    out, value = made[0].float(), args[2].float()
    low, high = value.amin(-2, keepdim=True), value.amax(-2, keepdim=True)
    room = 0.05 * (high - low) + 1e-6
    wrong = (~((out >= low - room) & (out <= high + room))).nonzero()
    if not len(wrong):
        return None
    where = tuple(int(i) for i in wrong[0])
    return (
        f"The kernel's output at index {list(where)} is {out[where].item():.4g}; the values lie "
        f"between {low[..., 0, where[-1]].item():.4g} and {high[..., 0, where[-1]].item():.4g}."
    )


EXERCISE = Exercise(
    name="flash_forward_tile",
    chapter=9,
    signature="flash_forward_tile(m, l, acc, q, k, v, columns, limit, scale_log2)",
    asks="Work one tile of keys and values into what a tile of queries has seen, in a kernel.",
    reference=getattr(flash_forward_tile, "fn", flash_forward_tile),
    minutes=20,
    difficulty=4,
    importance=4,
    inputs=("query", "key", "value", "is_causal"),
    parts=("out = acc / l", "lse from m and l"),
    callable_apart=False,
    lacks=lacking,
    cases=(
        Case("one tile of 16 keys, seen whole", made(16, 16, 16), run=in_tiles_of(16, 16)),
        Case("48 keys in three tiles", made(16, 48, 16), run=in_tiles_of(16, 16)),
        Case("tiles of 16 queries and 32 keys", made(16, 64, 64), run=in_tiles_of(16, 32)),
        Case(
            "causal: 32 queries and keys", made(32, 32, 16, is_causal=True), run=in_tiles_of(16, 16)
        ),
        Case(
            "causal: tiles of 32 queries and 16 keys",
            made(40, 40, 32, is_causal=True),
            run=in_tiles_of(32, 16),
        ),
        Case("40 keys in tiles of 16: a ragged tail", made(16, 40, 16), run=in_tiles_of(16, 16)),
        Case(
            "causal: more queries than keys",
            made(30, 11, 16, is_causal=True),
            run=in_tiles_of(16, 16),
        ),
        Case(
            "scores that rise by hundreds",
            at_levels(0.0, 400.0, 48),
            run=in_tiles_of(32, 16),
            tolerance=2e-3,
        ),
        Case(
            "scores that fall by hundreds",
            at_levels(0.0, -400.0, 48),
            run=in_tiles_of(32, 16),
            tolerance=2e-3,
        ),
        Case(
            "scores near -9000, and a ragged tail",
            at_levels(-9000.0, -9001.0, 40),
            run=in_tiles_of(32, 16),
            tolerance=2e-2,
        ),
        Case(
            "causal: hidden keys with by far the best scores",
            at_levels(0.0, 3000.0, 32, is_causal=True),
            run=in_tiles_of(32, 16),
            tolerance=2e-2,
        ),
        Case("float16", made(16, 40, 32, dtype="float16"), run=in_tiles_of(16, 16)),
    ),
    misconceptions=(*MASKS, *SOFTMAXES, *WALKS),
    properties=(Property("the output is an average of values", _outside_the_values),),
    hints=(
        "It is `online_softmax_step` of this chapter, in other words: `tl.max(x, 1)` and "
        "`tl.sum(x, 1)` reduce the rows of a tile, `x[:, None]` makes a column of a vector.",
        "Begin with the scores: `tl.dot` multiplies two tiles, and one of them has to be turned "
        "with `tl.trans`. The scale holds log2(e), so `tl.exp2` is the right power afterwards.",
        "Where there is a limit, `tl.where(condition, scores, -inf)` hides what lies beyond it. "
        "The condition is a table: a row of columns against a column of limits.",
        "The new maximum is that of the old one and of the tile. What was gathered under the old "
        "maximum has to be multiplied by 2 to the power of old minus new: both l and acc.",
        "In order: scores, limit, new maximum, weights, the factor for what is there, the sum, the "
        "output (weights in v's dtype for `tl.dot`); return the three.",
    ),
)
