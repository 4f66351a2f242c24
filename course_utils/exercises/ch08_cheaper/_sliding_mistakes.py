"""What goes wrong in sliding-window attention."""

import math
from dataclasses import replace

import torch

from course_utils.checking.exercise import Misconception
from course_utils.exercises.ch03_scaled_dot_product._mask_mistakes import MASK
from course_utils.exercises.ch03_scaled_dot_product._value_mistakes import VALUES
from course_utils.exercises.ch03_scaled_dot_product._weight_mistakes import softmax_mistakes
from course_utils.exercises.ch06_masks._window_mistakes import EDGES
from course_utils.exercises.ch06_masks._window_place_mistakes import PLACES
from course_utils.exercises.ch08_cheaper._lifted import lifted
from course_utils.exercises.ch08_cheaper._sliding_run_mistakes import BLOCKS
from course_utils.exercises.ch08_cheaper._window import build, gathered, inside, seen
from course_utils.exercises.ch08_cheaper._window_dear import DENSE

# What concerns the mask as a tensor, or is the same as another mistake once it hides scores.
_NO_MASK = {
    "numbers instead of booleans",
    "numbers to add instead of booleans",
    "inverted",
    "a loop that leaves one out",
    "axes added or missing",
    "`|` for `&`",
}
_SAME_HERE = {
    "one mask for all batches",
    "one mask for all queries",
    "always causal",
    "mask transposed",
    "mask before the scale",
    "the root of the width of the values",
}

SCALE = (
    Misconception(
        "no scale",
        inside(factor=lambda q, k, v: 1.0),
        "The weights are those of unscaled scores: too sharp. By what does q·k grow with d?",
    ),
    Misconception(
        "divided by d",
        inside(factor=lambda q, k, v: 1 / q.shape[-1]),
        "The scores are divided by d, so the weights are too even. Whose root is it?",
    ),
    Misconception(
        "multiplied by the root of d",
        inside(factor=lambda q, k, v: math.sqrt(q.shape[-1])),
        "The scale makes the scores larger, not smaller. Which way should it push them?",
    ),
    Misconception(
        "the root of the wrong size",
        gathered(lambda b, n, w: b.clamp(min=0), scale=lambda d, window: window**-0.5),
        "The scale is a root, but not of the width of a head. Over how many products does one "
        "score sum?",
        also=(
            inside(factor=lambda q, k, v: 1 / math.sqrt(q.shape[-2])),
            inside(factor=lambda q, k, v: 1 / math.sqrt(q.shape[1] * q.shape[-1])),
            inside(factor=lambda q, k, v: q.shape[-1] ** -0.25),
        ),
    ),
    Misconception(
        "scale after softmax",
        inside(scale_last=True),
        "The weights of a row sum to the scale, not to 1: it was applied to the weights "
        "themselves. Which numbers is it meant to keep small?",
    ),
)
SOFTMAX = (
    Misconception(
        "softmax over the heads",
        inside(turn=lambda scores: torch.softmax(scores, 1)),
        "The heads share 1 out among themselves. Each head has 1 to give, and gives it to keys: "
        "which axis, counted from the end?",
        also=(inside(turn=lambda scores: torch.softmax(scores, 0)),),
    ),
    *(
        mistake
        for mistake in softmax_mistakes(inside)
        if mistake.name != "softmax over an axis counted from the front"
    ),
)
_FROM_THE_END = next(m for m in PLACES if m.name == "negative index counted from the end")

_SHORT = "window too short by one"


def _edges() -> tuple[Misconception, ...]:
    """Return the mistakes with the window's edges; a shorter window may keep the own key."""
    kept = lifted(EDGES, lambda mask: build(mask=mask), _NO_MASK)
    own = seen(lambda i, j, w: (j <= i) & (j > i - max(1, w - 1)))
    return tuple(replace(m, also=(*m.also, own)) if m.name == _SHORT else m for m in kept)


MISCONCEPTIONS = (
    *_edges(),
    Misconception(
        _FROM_THE_END.name,
        build(mask=_FROM_THE_END.wrong),
        _FROM_THE_END.says,
        also=(build(mask=_FROM_THE_END.also[-1]),),
    ),
    *BLOCKS,
    *SCALE,
    *SOFTMAX,
    *lifted((*VALUES, *MASK), lambda fn: build(attend=fn), _SAME_HERE),
    DENSE,
)
