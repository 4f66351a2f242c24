"""Exercise: wire a decoder layer: a look at itself, one at the memory, and a feed-forward part."""

from typing import Any

import torch
from course_utils.checking.exercise import case, exercise
from course_utils.checking.inputs import Make, normal, strided
from course_utils.checking.mistakes import adding, mistake
from course_utils.exercises.shared.wiring import ONCE, counted, parts, wiring
from course_utils.models import decoder_layer

RIGHT = """
def decoder_layer(x, memory, self_attend, cross_attend, feed_forward, norms, pre_norm):
    before = pre_norm
    first = norms[0]
    second = norms[1]
    third = norms[2]
    read_1 = first(x) if before else x
    found_1 = self_attend(read_1)
    kept_1 = x
    sum_1 = kept_1 + found_1
    after_1 = sum_1 if before else first(sum_1)
    read_2 = second(after_1) if before else after_1
    found_2 = cross_attend(read_2, memory)
    kept_2 = after_1
    sum_2 = kept_2 + found_2
    after_2 = sum_2 if before else second(sum_2)
    read_3 = third(after_2) if before else after_2
    found_3 = feed_forward(read_3)
    kept_3 = after_2
    sum_3 = kept_3 + found_3
    after_3 = sum_3 if before else third(sum_3)
    return after_3
"""


def _made(sizes: tuple[int, int, int, int], pre_norm: bool, dtype: str = "float64", lies: str = "") -> Make:
    """Make a stream (B, L, d_model), a memory (B, S, d_model), the parts and the flag."""
    kind: torch.dtype = getattr(torch, dtype)
    batch, length, remembered, d_model = sizes

    def make(g: torch.Generator) -> tuple[Any, ...]:
        x = 2 * normal(g, batch, length, d_model, dtype=kind) + 1
        memory = 3 * normal(g, batch, remembered, d_model, dtype=kind) - 1
        if lies:
            x, memory = strided(x), strided(memory)
        *made, one, two, three = parts(
            g, d_model, kind, self_attend="attend", cross_attend="cross", feed_forward="hidden",
            norm_1="norm", norm_2="norm", norm_3="norm",
        )  # fmt: skip
        return x, memory, *made, (one, two, three), pre_norm

    return make


def _orders(calls: str, *order: int) -> tuple[str, ...]:
    """Return parts in another order: their norms stay where they are, or come along."""
    steps = zip(("first", "second", "third"), order, strict=True)
    return calls, "\n".join((*(f"{step} = norms[{number}]" for step, number in steps), calls))


EXERCISE = exercise(
    decoder_layer,
    right=RIGHT,
    asks="Wire self-attention, cross-attention and feed-forward with their norms and residuals, in either order.",
    minutes=12,
    difficulty=3,
    importance=5,
    cases=(
        case("pre-norm, 3 tokens, a memory of 5", _made((2, 3, 5, 4), True), gradient="equal"),
        case("post-norm, 3 tokens, a memory of 5", _made((2, 3, 5, 4), False), gradient="equal"),
        case("pre-norm, one token", _made((3, 1, 4, 5), True)),
        case("post-norm, a memory of one", _made((3, 4, 1, 5), False)),
        case("pre-norm, every size is 4", _made((4, 4, 4, 4), True), gradient="equal"),
        case("post-norm, every size is 4", _made((4, 4, 4, 4), False)),
        case("post-norm, float32, non-contiguous", _made((2, 5, 3, 6), False, "float32", "strided")),
        case("how often each part is used, pre-norm", _made((2, 3, 5, 4), True), run=counted, says=ONCE),
        case("how often each part is used, post-norm", _made((2, 3, 5, 4), False), run=counted, says=ONCE),
    ),
    mistakes=(
        mistake("the memory unused", "What the encoder gave has no effect: the second attention looks at the decoder's "
                "own stream, as in a stub that was never finished. Whom does it ask?",
                "found_2 = cross_attend(read_2, read_2)", "found_2 = self_attend(read_2)",
                "found_2 = cross_attend(read_2, after_1)", "found_2 = cross_attend(read_2, x)",
                "found_2 = cross_attend(read_2)", "found_2 = cross_attend(read_2, torch.zeros_like(memory))",
                "found_2 = self_attend(read_2)\nfound_1 = cross_attend(read_1, memory)"
                "\nfound_2 = cross_attend(read_2, x)"),
        mistake("memory and stream exchanged", "The memory asks and the stream answers: the result has a row for each "
                "token of the source. Who needs an answer here?", "found_2 = cross_attend(memory, read_2)"),
        mistake("the memory normed", "The memory was normalised on the way. The encoder has finished with it: use it "
                "as it is. Which stream does the second norm belong to?",
                "found_2 = cross_attend(read_2, second(memory))",
                "found_2 = cross_attend(read_2, second(memory) if before else memory)",
                "found_2 = cross_attend(after_1, second(memory))",
                "found_2 = cross_attend(after_1, second(memory) if before else memory)",
                "found_2 = cross_attend(read_2, F.layer_norm(memory, memory.shape[-1:]))"),
        mistake("the memory cut off from the gradient", "The values are right, but nothing comes back to the encoder: "
                "it would never learn. What cuts it off?", "found_2 = cross_attend(read_2, memory.detach())"),
        mistake("cross-attention before self-attention", "The memory is asked before the tokens have looked at each "
                "other. What should a token know before it asks the encoder?",
                *_orders("found_1 = cross_attend(read_1, memory)\nfound_2 = self_attend(read_2)", 1, 0, 2)),
        mistake("cross-attention instead of self-attention", "The first attention asks the memory, too, so no token of "
                "the target ever looks at another. Whom does it ask?", "found_1 = cross_attend(read_1, memory)"),
        mistake("feed-forward before cross-attention", "The feed-forward part comes between the two attentions. Where "
                "does it belong in a layer?",
                *_orders("found_2 = feed_forward(read_2)\nfound_3 = cross_attend(read_3, memory)", 0, 2, 1)),
        mistake("feed-forward first", "The feed-forward part comes first. Where does it belong in a layer?",
                *_orders("found_1 = feed_forward(read_1)\nfound_2 = self_attend(read_2)\n"
                         "found_3 = cross_attend(read_3, memory)", 2, 0, 1)),
        mistake("memory and stream read together", "Memory and stream were joined, or added, before they were asked. "
                "The tokens have looked at each other already: who is asked now?",
                "found_2 = cross_attend(read_2, torch.cat([memory, read_2], 1))",
                "found_2 = cross_attend(read_2, torch.cat([read_2, memory], 1))",
                "found_2 = cross_attend(read_2, torch.cat([memory, after_1], 1))",
                "found_2 = cross_attend(read_2, memory) + memory.mean(1, keepdim=True)",
                "found_2 = cross_attend(read_2 + memory.mean(1, keepdim=True), memory)"),
        mistake("only a part of the memory", "Not all of the memory was asked: it was cut, or averaged. How many "
                "tokens has the source?", "found_2 = cross_attend(read_2, memory[:, : x.shape[1]])",
                "found_2 = cross_attend(read_2, memory[:, -1:])", "found_2 = cross_attend(read_2, memory[:, :1])",
                "found_2 = cross_attend(read_2, memory.mean(1, keepdim=True))",
                "found_2 = cross_attend(read_2, memory[:, 1:])", "found_2 = cross_attend(read_2, memory[:, :-1])"),
        mistake("the memory changed", "The memory was sent through a part before it was asked. The encoder has "
                "finished with it: what may still happen to it here?",
                "found_2 = cross_attend(read_2, feed_forward(memory))",
                "found_2 = cross_attend(read_2, self_attend(memory))",
                "found_2 = cross_attend(read_2, feed_forward(third(memory)))\nreturn after_2"),
        *adding(wiring(("self_attend({})", "cross_attend({}, memory)", "feed_forward({})"),
                tuple(f"norms[{number}]" for number in range(3)), "return after_3, memory"),
                {"the other sequences used": (
                    "found_2 = cross_attend(read_2, memory[:1].expand_as(memory))",
                    "found_2 = cross_attend(read_2, memory.flip(0))")}),
    ),
    hints=(
        "It is the encoder layer with one more part in the middle. Which stream does that part read, and which does "
        "it ask?",
        "Each of the three: branch off, norm, part, add; or branch off, part, add, norm. Write it three times first.",
        "`cross_attend(..., memory)`: only its first argument changes with the order of norms.",
    ),
)
