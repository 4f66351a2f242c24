"""Exercise: wire an encoder layer, with the norm before or after each of its parts."""

from typing import Any

import torch
from course_utils.checking.exercise import case, exercise
from course_utils.checking.inputs import Make, normal, strided
from course_utils.checking.mistakes import mistake
from course_utils.exercises.shared.wiring import ONCE, counted, parts, wiring
from course_utils.models import encoder_layer

RIGHT = """
def encoder_layer(x, attend, feed_forward, norm_1, norm_2, pre_norm):
    before = pre_norm
    first = norm_1
    second = norm_2
    read_1 = first(x) if before else x
    found_1 = attend(read_1)
    kept_1 = x
    sum_1 = kept_1 + found_1
    after_1 = sum_1 if before else first(sum_1)
    read_2 = second(after_1) if before else after_1
    found_2 = feed_forward(read_2)
    kept_2 = after_1
    sum_2 = kept_2 + found_2
    after_2 = sum_2 if before else second(sum_2)
    return after_2
"""


def _made(batch: int, length: int, d_model: int, pre_norm: bool, dtype: str = "float64", lies: str = "") -> Make:
    """Make a stream, the four parts and the flag."""
    kind: torch.dtype = getattr(torch, dtype)

    def make(g: torch.Generator) -> tuple[Any, ...]:
        x = 2 * normal(g, batch, length, d_model, dtype=kind) + 1
        made = parts(g, d_model, kind, attend="attend", feed_forward="hidden", norm_1="norm", norm_2="norm")
        return strided(x) if lies else x, *made, pre_norm

    return make


EXERCISE = exercise(
    encoder_layer,
    right=RIGHT,
    asks="Wire attention and feed-forward with their norms and residuals, in the order that `pre_norm` says.",
    minutes=10,
    difficulty=2,
    importance=5,
    cases=(
        case("pre-norm, 2 sequences of 3 tokens, width 4", _made(2, 3, 4, True), gradient="equal"),
        case("post-norm, 2 sequences of 3 tokens, width 4", _made(2, 3, 4, False), gradient="equal"),
        case("pre-norm, one token", _made(3, 1, 5, True)),
        case("post-norm, one token", _made(3, 1, 5, False)),
        case("pre-norm, every size is 4", _made(4, 4, 4, True)),
        case("post-norm, float32, non-contiguous", _made(2, 5, 6, False, "float32", "strided")),
        case("how often each part is used, pre-norm", _made(2, 3, 4, True), run=counted, says=ONCE),
        case("how often each part is used, post-norm", _made(2, 3, 4, False), run=counted, says=ONCE),
    ),
    mistakes=(
        mistake("feed-forward before attention", "The two parts are in the other order. Which one does a token use to "
                "look at the others first?", "found_1 = feed_forward(read_1)\nfound_2 = attend(read_2)",
                "first = norm_2\nsecond = norm_1\nfound_1 = feed_forward(read_1)\nfound_2 = attend(read_2)"),
        *wiring(("attend({})", "feed_forward({})"), ("norm_1", "norm_2")),
    ),
    hints=(
        "Draw the stream as a line from left to right. Where does a part branch off, and where does it come back?",
        "Pre-norm: the norm is on the branch, the line itself is never normalised. Post-norm: it is on the line.",
        "Write it for attention first, in both orders; the feed-forward part does the same to what comes out.",
    ),
)
