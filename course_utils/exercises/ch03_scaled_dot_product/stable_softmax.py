"""Exercise: softmax over the last axis that survives large scores and rows of -inf."""

from dataclasses import replace
from typing import Any

import torch
from course_utils.attention import stable_softmax
from course_utils.checking.exercise import Law, case, exercise
from course_utils.checking.inputs import normal
from course_utils.checking.laws import row_sums_broken, weights_negative
from course_utils.checking.mistakes import adding, mistake, saying
from course_utils.exercises.shared.kinds import cut_off, fixed_axes, other_kinds, overwritten, squeezed, writing
from course_utils.exercises.shared.precision import lower_precision
from course_utils.exercises.shared.softmax import RANDOM, SOFTMAX, epsilon, some_epsilon
from torch import Tensor

RIGHT = """
def stable_softmax(scores):
    empty = (scores == -torch.inf).all(-1, keepdim=True)
    peak = scores.amax(-1, keepdim=True)
    shift = peak.masked_fill(empty, 0.0)
    powers = (scores - shift).exp()
    total = powers.sum(-1, keepdim=True)
    safe = total.masked_fill(total == 0, 1.0)
    weights = (powers / safe).masked_fill(empty, 0.0)
    return weights
"""
# In its own lines `stable_softmax` is the wrong function itself.
softmax = stable_softmax
_SHARED = tuple(
    replace(one, versions=tuple(str(line).replace("stable_softmax", "softmax") for line in one.versions))
    for one in (*SOFTMAX, RANDOM)
)
_ANEW = "peak = scores.amax(-1, keepdim=True)"


def _levels(g: torch.Generator) -> tuple[Tensor]:
    return (normal(g, 3, 5) + torch.tensor([[0.0], [900.0], [-900.0]], dtype=torch.float64),)


def _with_empty_row(g: torch.Generator) -> tuple[Tensor]:
    scores = normal(g, 2, 3, 5)
    scores[0, 1] = -torch.inf
    scores[1, 2, :2] = -torch.inf
    scores[1, 0, 4] = -torch.inf
    return (scores,)


_LARGE = (
    [1e4, 9999.0, -1e4, 3.0, 0.0, 9998.5],
    [-1e4, -10001.0, -9999.5, -2e4, -1e4, -3e4],
    [-2e4, -19999.0, -20002.0, -5e4, -20000.5, -3e4],
)


def _scaled(args: tuple[Any, ...], weights: Tensor) -> bool:
    """Return whether the weights are those of the same scores times some number but 1."""
    scores, logs = args[0], weights.detach().log()
    if scores.shape[-1] < 3 or not bool(logs.isfinite().all() & scores.isfinite().all()):
        return False
    x, y = (z.double() - z.double().mean(-1, keepdim=True) for z in (scores, logs))
    factor = (x * y).sum() / x.square().sum()
    other = (factor.abs() > 1e-3) & ((factor - 1).abs() > 1e-3)
    return bool(((factor * x - y).abs() < 1e-6).all() & other)


def _rounded(args: tuple[Any, ...], weights: Tensor) -> bool:
    right = stable_softmax(args[0])
    return any(bool((weights == right.round(decimals=digits)).all()) for digits in range(1, 9))


def _epsilon(args: tuple[Any, ...], weights: Tensor) -> bool:
    return some_epsilon(args[0], stable_softmax(args[0]), weights)


def _rows_sum_to_one(args: tuple[Any, ...], out: Tensor) -> str | None:
    empty = (args[0] == -torch.inf).all(-1)
    return row_sums_broken(out, torch.where(empty, 0.0, 1.0))


EXERCISE = exercise(
    stable_softmax,
    right=RIGHT,
    asks="Turn the last axis of scores into weights that are positive and sum to 1.",
    minutes=10,
    difficulty=2,
    importance=5,
    cases=(
        case("one row of four scores", S=4, gradient="equal"),
        case("a batch of shape (2, 3, 5)", batch=(2, 3), S=5, gradient="equal"),
        case("rows at very different levels", _levels),
        case("scores of ten thousand", lambda g: (torch.tensor(_LARGE, dtype=torch.float64),)),
        case("a row of -inf among ordinary rows", _with_empty_row, gradient="equal"),
        case("nothing but one row of -inf", lambda g: (torch.full((6,), -torch.inf).double(),)),
        case("axes of size 1", batch=(1, 1), S=1),
        case("non-contiguous inputs", batch=(4, 3), S=6, strided=True),
        case("float32", batch=(2,), S=7, dtype="float32", size=30.0),
        case("bfloat16", batch=(3,), S=6, dtype="bfloat16", size=2.0),
    ),
    mistakes=(
        mistake("shifted by something else than the maximum", "A shift is there, but it leaves exponents that are too "
                "large or far too low: some rows are lost. Which number of a row makes all its exponents 0 or less, "
                "and one of them 0?", "shift = scores.nan_to_num(neginf=0.0).mean(-1, keepdim=True)",
                "low = scores.amin(-1, keepdim=True)\nshift = low.masked_fill(low.isinf(), 0.0)",
                "far = scores.abs().amax(-1, keepdim=True)\nshift = far.masked_fill(far.isinf(), 0.0)",
                "shift = scores.abs().amax(-1, keepdim=True)\nweights = powers / total", "shift = peak.clamp(min=0.0)",
                "shift = peak.clamp(min=0.0)\nweights = powers / total",
                "shift = scores.mean(-1, keepdim=True)\nweights = powers / total",
                "shift = scores.amin(-1, keepdim=True)\nweights = powers / total",
                "shift = -peak\nweights = powers / total",
                "shift = scores.median(-1, keepdim=True).values\nweights = powers / total",
                "shift = scores.mean(-1, keepdim=True)\nweights = (powers / total).nan_to_num()"),
        mistake("shift in one half of the fraction only", "The shift is in the numerator or in the denominator, but "
                "not in both, so it does not cancel. Which exponentials must be the same ones?",
                "weights = (scores - peak).exp() / scores.exp().sum(-1, keepdim=True)",
                "weights = scores.exp() / (scores - peak).exp().sum(-1, keepdim=True)"),
        mistake("low scores taken for -inf", "A row of low scores was treated as one that may choose nothing. Only "
                "-inf means that: which test asks for exactly it?",
                "empty = scores.amax(-1, keepdim=True) <= -1e3", "empty = scores.amax(-1, keepdim=True) < -1e4"),
        mistake("one -inf empties the row", "A row with some scores of -inf became all zeros, though it has others to "
                "choose from. Which rows may choose nothing: those with one -inf, or with nothing else?",
                "empty = scores.isinf().any(-1, keepdim=True)", "empty = scores[..., :1].isinf()",
                "empty = scores[..., -1:].isinf()"),
        mistake("one empty row empties all", "One row that may choose nothing turned the others to zeros as well. Each "
                "row is separate: over which axis do you test for emptiness?",
                "empty = (scores == -torch.inf).all(-1).any()"),
        mistake("-inf read as an ordinary score", "A score of -inf became an ordinary one and got a weight. What "
                "weight does exp(-inf) give?", f"scores = scores.nan_to_num(neginf=0.0)\n{_ANEW}"),
        mistake("scores clipped", "Two large scores that differ by 1 get the same weight. Is the difference between "
                "them lost before exp? Subtracting keeps differences, clipping does not.",
                f"scores = scores.clamp(max=80.0)\n{_ANEW}", "weights = torch.softmax(scores.clamp(-50.0, 50.0), -1)"),
        mistake("one maximum for the whole tensor", "Rows far below the largest score of the tensor vanish: all their "
                "exponentials are 0. Whose maximum does a row need?",
                "shift = scores.amax().nan_to_num(neginf=0.0)", "shift = scores.max()\nweights = powers / total"),
        mistake("maximum over the wrong axis", "The shift differs within a row, so it does not cancel. Over which axis "
                "must the maximum be taken?", "shift = scores.amax(0, keepdim=True)\nweights = powers / total",
                "high = scores.amax(-2, keepdim=True)\nshift = high.masked_fill(high.isinf(), 0.0)"),
        mistake("NaN on an empty row", "A row of -inf became NaN: its maximum is -inf too, and -inf - (-inf) is not a "
                "number. What should a row that may choose nothing give?", "weights = torch.softmax(scores, -1)",
                "none = (scores == -torch.inf).all()\n"
                "weights = torch.zeros_like(scores) if bool(none) else torch.softmax(scores, -1)"),
        mistake("uniform on an empty row", "A row of -inf became uniform weights: it attends to everything that it may "
                "not see. What should a row that may choose nothing give?",
                "weights = torch.softmax(scores.masked_fill(scores == -torch.inf, -1e9), -1)"),
        mistake("NaN repaired too late", "The values are right, but the gradient of an empty row is NaN: it was made "
                "on the way and replaced only afterwards. Can the NaN be avoided instead of repaired?",
                "weights = torch.softmax(scores, -1).nan_to_num()"),
        mistake("one sum for the whole tensor", "The exponentials were divided by the sum of all of them. Each row "
                "should sum to 1: what must the sum run over?", "total = powers.sum()"),
        fixed_axes("weights = torch.stack([torch.softmax(row, -1) for row in scores])",
                   "weights = torch.stack([softmax(row) for row in scores])"),
        *epsilon(_epsilon, 1e-7),
        mistake("one more in the denominator", "The row sums to less than 1, as if an invisible key with score 0 took "
                "a share too. What does the sum in the denominator run over?",
                "weights = scores.exp() / (1.0 + scores.exp().sum(-1, keepdim=True))"),
        mistake("length instead of sum", "The squares of a row sum to 1, not the weights themselves. Which sum makes "
                "shares?", "weights = F.normalize(powers, dim=-1)"),
        mistake("weights rounded", "The weights are rounded to a few digits. Whatever reads them next has to work with "
                "the rounded numbers.", "weights = (powers / safe).round(decimals=4)", matches=_rounded),
        *saying(adding(_SHARED, {"no exponential": ("weights = F.normalize(scores, p=1, dim=-1)",)}), {
            "softmax over the queries": "The columns sum to 1, not the rows. Over which axis does one query divide its "
                "attention?",
            "softmax over an axis counted from the front": "It works for some numbers of axes only. Which axis number "
                "means 'the last one' whatever the shape?",
            "one softmax over all pairs": "All entries together sum to 1. Each row should: what must the sum run over?",
            "no shift before exp": "Ordinary scores come out right, extreme ones do not: exp(10000) is more than any "
                "float holds, and exp(-900) is 0. What may you subtract from a whole row without changing its weights?",
            "sign of the scores flipped": "The smallest score gets the largest weight. Which sign stands inside exp?",
            "all weight on the best key": "The largest score takes everything. A softmax is soft: how much should the "
                "second largest get?",
        }),
        mistake("another base than e", "The weights are ordered rightly but too even or too sharp. Which base do the "
                "powers have?", "powers = torch.exp2(scores - shift)", "powers = 10.0 ** (scores - shift)"),
        mistake("scores scaled first", "The weights are those of other scores. A softmax takes its scores as they are: "
                "what was divided before exp?",
                f"scores = scores / math.sqrt(scores.shape[-1])\n{_ANEW}", matches=_scaled),
        mistake("without keepdim", "The maxima or the sums lost their axis, so they line up with the wrong axis of the "
                "scores. Which argument of `amax` and `sum` keeps it?",
                "shift = peak\nweights = powers / powers.sum(-1)", "shift = scores.amax(-1)\nweights = powers / total"),
        cut_off("return weights.detach()"),
        overwritten(*writing(stable_softmax, 0)),
        squeezed("return weights{}"),
        lower_precision(stable_softmax, "return weights.bfloat16().to(scores.dtype)"),
        *other_kinds("weights"),
    ),
    laws=(
        Law("weights are never negative", weights_negative),
        Law("each row sums to 1, a row of -inf to 0", _rows_sum_to_one),
    ),
    hints=(
        "Write the formula first: the exponential of each score, over the sum of its row.",
        "Try it on a score of 10000. The weights of a row stay the same when you subtract one number from all of its "
        "scores: which number keeps every exponential at 1 or below?",
        "`amax` with `keepdim=True` gives one number per row. What is it in a row of -inf? And -inf minus that?",
        "Put 0 in place of a maximum of -inf (`masked_fill`). The exponentials of such a row are then all 0, and so is "
        "their sum: what may you divide by there?",
    ),
)
