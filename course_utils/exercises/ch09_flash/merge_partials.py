"""Exercise: two partial results made one."""

from typing import Any

import torch
from course_utils.attention import merge_partials
from course_utils.checking.exercise import case, exercise
from course_utils.checking.inputs import Make, normal, strided
from course_utils.checking.mistakes import mistake
from course_utils.checking.recipe import Function
from course_utils.exercises.shared.kinds import left_in, other_parts
from torch import Tensor

RIGHT = """
def merge_partials(out_a, lse_a, out_b, lse_b):
    top = torch.maximum(lse_a, lse_b)
    shift = top.masked_fill(top == -torch.inf, 0.0)
    share_a, share_b = (lse_a - shift).exp(), (lse_b - shift).exp()
    part_a = out_a.masked_fill((lse_a == -torch.inf).unsqueeze(-1), 0.0)
    part_b = out_b.masked_fill((lse_b == -torch.inf).unsqueeze(-1), 0.0)
    summed = share_a.unsqueeze(-1) * part_a + share_b.unsqueeze(-1) * part_b
    total = share_a + share_b
    divisor = total.masked_fill(total == 0.0, 1.0).unsqueeze(-1)
    out = summed / divisor
    lse = torch.logaddexp(lse_a, lse_b)
    return out, lse
"""


def _made(
    *leading: int,
    sizes: tuple[int, int],
    near: tuple[float, float] = (0.0, 0.0),
    slope: float = 0.0,
    empty: tuple[tuple[int, ...], tuple[int, ...]] = ((), ()),
    filled: float = 0.0,
    dtype: str = "float64",
) -> Make:
    """Make two parts of the sizes (L, d_v), whose logsumexps are `near` two numbers and rise by `slope` per row.

    In the rows in `empty` they saw no key, and their outputs are `filled` with a number.
    """
    kind = getattr(torch, dtype)

    def make(g: torch.Generator) -> tuple[Tensor, ...]:
        parts: list[Tensor] = []
        for middle, rows in zip(near, empty, strict=True):
            out = normal(g, *leading, *sizes, dtype=kind)
            rise = (slope * torch.arange(sizes[0])).to(kind)
            lse = normal(g, *leading, sizes[0], dtype=kind) + middle + rise
            out[..., list(rows), :] = filled
            lse[..., list(rows)] = -torch.inf
            parts += [out, lse]
        return tuple(parts)

    return make


def _strided(g: torch.Generator) -> tuple[Tensor, ...]:
    out_a, lse_a, out_b, lse_b = _made(2, 3, sizes=(5, 4))(g)
    return strided(out_a), strided(lse_a), strided(out_b), lse_b


def _three(merge: Function, *args: Tensor) -> Any:
    """Merge with nothing first, and with the same part again at the end."""
    out, lse = torch.zeros_like(args[0]), torch.full_like(args[1], -torch.inf)
    for part in (args[:2], args[2:], args[:2]):
        out, lse = merge(out, lse, *part)
    return out, lse


_EVEN = "share_a, share_b = torch.ones_like(lse_a), torch.ones_like(lse_b)"
_SEEN = "share_a, share_b = (lse_a > -torch.inf).to(lse_a), (lse_b > -torch.inf).to(lse_b)"
_ITSELF = "share_a, share_b = lse_a.masked_fill(lse_a == -torch.inf, 0.0), lse_b.masked_fill(lse_b == -torch.inf, 0.0)"
_BARE = "share_a, share_b = lse_a.exp(), lse_b.exp()"
_TWO = "share_a, share_b = torch.exp2(lse_a - shift), torch.exp2(lse_b - shift)"
_HARD = "share_a, share_b = (lse_a >= lse_b).to(lse_a), (lse_a < lse_b).to(lse_a)"
_QUERIES = "share_a, share_b = lse_a.softmax(-1), lse_b.softmax(-1)"
_BARE_SUM = "lse = (lse_a.exp() + lse_b.exp()).log()"
_UNGUARDED = "lse = top + ((lse_a - top).exp() + (lse_b - top).exp()).log()"
_EITHER = "either = (lse_a == -torch.inf) | (lse_b == -torch.inf)\n"
_ONE_TOP = "top = torch.maximum(lse_a, lse_b).max()\nlse = top + total.log()"
_EPSILON = "divisor = (total + {0}).unsqueeze(-1)"
_NOTHING = "out = (summed / divisor).masked_fill(either.unsqueeze(-1), 0.0)"

WEIGHTS = (
    mistake("the two averaged", "Both parts count alike. One part may have seen three keys of low scores, the other "
            "one key of a high score: which number says how much each of them saw?",
            _EVEN, _SEEN, f"{_EVEN}\ndivisor = 2.0"),
    mistake("the two added", "The two outputs were added as they are. Each is an average already, whose weights sum to "
            "1: what do the weights of the sum add up to?", f"{_EVEN}\ndivisor = 1.0", f"{_SEEN}\ndivisor = 1.0"),
    mistake("weighted by lse itself", "The logsumexps were taken for weights as they are. They are logarithms, and may "
            "be negative: which function of them can be added?",
            _ITSELF, f"{_ITSELF}\ndivisor = 1.0", "share_a, share_b = lse_a, lse_b\npart_a = out_a\npart_b = out_b"),
    mistake("exponentials without a maximum", "exp(lse) was taken as it is: near 2,000 it is infinite, near -2,000 it "
            "is 0. Only the ratio of the two matters: what may be subtracted from both?",
            _BARE, f"{_BARE}\n{_BARE_SUM}", _BARE_SUM),
    mistake("measured against one part alone", "The exponentials are measured against the lse of one part, or the "
            "smaller of the two. Where the other is by far larger, they are infinite: against which of the two is no "
            "exponential above 1?", "top = lse_a", "top = lse_a\nlse = lse_a + (1 + (lse_b - lse_a).exp()).log()",
            "low = torch.minimum(lse_a, lse_b)\n"
            "top = torch.where(low == -torch.inf, torch.maximum(lse_a, lse_b), low)",
            "lse = lse_a + (1 + (lse_b - lse_a).exp()).log()", "lse = lse_a + (lse_b - lse_a).exp().log1p()"),
    mistake("one maximum for all rows", "All rows are measured against one maximum, and in a row far below it both "
            "exponentials are 0. Which two numbers are compared in a row?", "top = torch.maximum(lse_a, lse_b).max()",
            f"{_ONE_TOP}\ndivisor = total.clamp(min=1e-30).unsqueeze(-1)", _ONE_TOP,
            f"{_ONE_TOP}\ndivisor = total.unsqueeze(-1)"),
    mistake("the weights swapped", "Part a got the weight of part b. Which of the two should count more where lse_a is "
            "the larger?", "share_a, share_b = (lse_b - shift).exp(), (lse_a - shift).exp()",
            "top = torch.minimum(lse_a, lse_b)\nshare_a, share_b = (shift - lse_a).exp(), (shift - lse_b).exp()"),
    mistake("not divided by the total", "The weighted sum was not divided by the sum of its weights. For an average "
            "the two shares must add up to 1.",
            "divisor = 1.0", f"{_BARE}\ndivisor = 1.0", "total = torch.maximum(share_a, share_b)",
            "divisor = total.masked_fill(total == 0.0, 1.0).unsqueeze(-1).square()"),
    mistake("powers of another base", "Powers of 2 were taken of logarithms to base e. They belong together only if "
            "the scores were multiplied by log₂ e before.", _TWO, f"{_TWO}\nlse = torch.logaddexp2(lse_a, lse_b)",
            "lse = torch.logaddexp2(lse_a, lse_b)", "lse = torch.logaddexp(lse_a, lse_b) / math.log(2)",
            "lse = shift + total.log2()", "lse = shift + total.log10()", "lse = shift + total.log1p()"),
    mistake("the part with the larger lse alone", "Only the part with the larger logsumexp is left. The other saw keys "
            "too: what share of all exponentials does it hold?", _HARD, f"{_HARD}\nlse = torch.maximum(lse_a, lse_b)"),
    mistake("weights over the queries", "The weights were normalised over the queries of a part. Between which two "
            "numbers does each query share its weight?", _QUERIES, f"{_QUERIES}\ndivisor = 1.0"),
    mistake("the weights along the width", "The weights, one per query, met the axis of the values' width instead. "
            "Which axis of out belongs to the queries, and what brings the weights there?",
            "axis = -2 if out_a.shape[-1] == lse_a.shape[-1] else -1\n"
            "summed = share_a.unsqueeze(axis) * part_a + share_b.unsqueeze(axis) * part_b\n"
            "divisor = total.masked_fill(total == 0.0, 1.0).unsqueeze(axis)"),
)

LOGSUMEXP = (
    mistake("the two lse added", "The logsumexps were added, which multiplies the sums behind them. What has to be "
            "added, and where do the logarithm and the exponential go?", "lse = lse_a + lse_b"),
    mistake("the larger lse", "The new lse is one of the two as it was. Their maximum is what to measure against; the "
            "sum of both parts is larger than either of them.",
            "lse = torch.maximum(lse_a, lse_b)", "lse = torch.minimum(lse_a, lse_b)"),
    mistake("the lse averaged", "The new lse is between the two. It belongs to the union of the keys: can it be "
            "smaller than the larger one?",
            "lse = (lse_a + lse_b) / 2", "lse = torch.logaddexp(lse_a, lse_b) - math.log(2)",
            "mean = share_a * lse_a.masked_fill(lse_a == -torch.inf, 0.0)\n"
            "lse = (mean + share_b * lse_b.masked_fill(lse_b == -torch.inf, 0.0)) / total"),
    mistake("the maximum left out of lse", "lse is the logarithm of the sum that was measured against the larger lse, "
            "and that one is missing. What was subtracted has to come back.", "lse = total.log()"),
    mistake("no logarithm in lse", "lse is a sum of exponentials: its logarithm was not taken.",
            "lse = shift + total", "lse = lse_a.exp() + lse_b.exp()", "lse = total"),
    mistake("lse of one part", "lse is that of one part. The next merge would then weigh the result as if the other "
            "one had not been there.", "lse = lse_a.clone()", "lse = lse_b.clone()"),
    mistake("in lower precision", "The parts were merged in float32, although float64 came in. Which line changes the "
            "type?",
            "kind = lse_a.dtype\nout_a, lse_a, out_b, lse_b = (x.float() for x in (out_a, lse_a, out_b, lse_b))\n"
            "top = torch.maximum(lse_a, lse_b)\nreturn out.to(kind), lse.to(kind)"),
)

ROWS = (
    mistake("NaN of an empty part kept", "A part that saw no key has weight 0, but 0 · NaN is NaN. What has to happen "
            "to its output before it is multiplied?", "part_a = out_a\npart_b = out_b",
            "part_a = out_a.nan_to_num(nan=torch.nan)\npart_b = out_b.nan_to_num(nan=torch.nan)"),
    mistake("NaN where both are empty", "In a row where neither part saw a key, -inf is subtracted from -inf, or 0 "
            "divided by 0. The output there is zeros and lse stays -inf: what may replace the maximum?",
            "shift = top\nlse = top + total.log()", "divisor = total.unsqueeze(-1)", "shift = top", _UNGUARDED,
            f"divisor = total.unsqueeze(-1)\n{_UNGUARDED}"),
    mistake("-inf replaced by a low number", "-inf became a large negative number. Two empty parts then weigh the same "
            "and are averaged, and lse is no longer -inf: which rows should count nothing at all?",
            "lse_a, lse_b = lse_a.clamp(min=-1e9), lse_b.clamp(min=-1e9)\ntop = torch.maximum(lse_a, lse_b)",
            "lse_a, lse_b = lse_a.clamp(min=-1e4), lse_b.clamp(min=-1e4)\n"
            "out_a, out_b = out_a.nan_to_num(), out_b.nan_to_num()\ntop = torch.maximum(lse_a, lse_b)",
            "both = ((lse_a == -torch.inf) & (lse_b == -torch.inf)).unsqueeze(-1)\n"
            "out = torch.where(both, (out_a + out_b) / 2, summed / divisor)"),
    mistake("lse of an empty row made a number", "Where neither part saw a key, lse came back as a finite number, as "
            "if something had been seen. The next merge would count it: the logarithm of an empty sum is -inf.",
            "lse = torch.where(top == -torch.inf, 0.0, torch.logaddexp(lse_a, lse_b))",
            "lse = torch.logaddexp(lse_a, lse_b).clamp(min=-1e4)", "lse = torch.logaddexp(lse_a, lse_b).nan_to_num()",
            *(f"{_EPSILON}\nlse = shift + (total + {{0}}).log()".format(one) for one in (1e-12, 1e-15, 1e-20, 1e-30))),
    mistake("NaN where one part is empty", "In a row where one part saw no key, two infinities were subtracted from "
            "each other, and lse is NaN. What is the lse of both parts if one of them is empty?",
            "lse = lse_a - F.logsigmoid(lse_a - lse_b)", "lse = lse_a + F.softplus(lse_b - lse_a)",
            "lse = lse_b + F.softplus(lse_a - lse_b)", "lse = lse_b - F.logsigmoid(lse_b - lse_a)"),
    mistake("epsilon in the denominator", "The two shares of a row sum to a little less than 1: something small was "
            "added to the denominator. Which rows is it meant for, and what could be done for these alone?",
            *(f"{_EPSILON}{lse}".format(one) for one in (1e-6, 1e-5, 1e-7, 1e-4, 1e-3)
              for lse in ("\nlse = shift + (total + {0}).log()", ""))),
    mistake("an empty row takes the other's place", "Where one part saw no key, the other's result was lost too. If "
            "only one saw anything, what is the attention over both?", _EITHER + _NOTHING,
            "part_a = out_a * 0.0 if (lse_a == -torch.inf).any() else out_a\npart_a = part_a.nan_to_num(nan=0.0)\n"
            "part_b = torch.zeros_like(out_b) if (lse_b == -torch.inf).any() else out_b",
            "empty_a, empty_b = (lse_a == -torch.inf).any(), (lse_b == -torch.inf).any()\n"
            "out = out_b.clone() if empty_a else out_a.clone() if empty_b else summed / divisor\n"
            "lse = lse_b.clone() if empty_a else lse_a.clone() if empty_b else torch.logaddexp(lse_a, lse_b)",
            f"{_EITHER}{_NOTHING}\nlse = torch.logaddexp(lse_a, lse_b).masked_fill(either, -torch.inf)"),
    mistake("only one side guarded", "One of the two parts may be empty without harm, the other not. Either of them "
            "can be the one that saw no key.", "part_b = out_b", "part_a = out_a"),
    mistake("one part returned", "What comes back is one of the two parts as it came. What did the other one see?",
            "return out_a.clone(), lse_a.clone()", "return out_b.clone(), lse_b.clone()", "out = out_a.clone()",
            "out = out_b.clone()"),
    mistake("written into the parts", "One of the inputs was overwritten. Its owner may still need it: which "
            "line writes in place?", "return out_a.copy_(out), lse_a.copy_(lse)",
            "out_a.masked_fill_((lse_a == -torch.inf).unsqueeze(-1), 0.0)\n"
            "out_b.masked_fill_((lse_b == -torch.inf).unsqueeze(-1), 0.0)\ntop = torch.maximum(lse_a, lse_b)"),
    mistake("cut from the gradient", "The values are right, but no gradient flows through them, or none through the "
            "weights. lse depends on the scores: what detaches it?", "return out.detach(), lse.detach()",
            "share_a, share_b = (lse_a - shift).exp().detach(), (lse_b - shift).exp().detach()",
            "return out, lse.detach()"),
    mistake("the two swapped", "lse came first. The order is that of the arguments: out, then lse.", "return lse, out"),
    mistake("one of the two alone", "One result came back. The next merge needs two: the output, and what it weighs.",
            "return out", "return lse"),
    left_in("return out, lse{}"),
    *other_parts("out", "lse"),
)

EXERCISE = exercise(
    merge_partials,
    right=RIGHT,
    asks="Merge two attention outputs that saw different keys into one.",
    minutes=12,
    difficulty=3,
    importance=4,
    parts=("out", "lse"),
    cases=(
        case("3 queries, values of width 4", _made(sizes=(3, 4)), gradient="equal"),
        case("leading axes (2, 3)", _made(2, 3, sizes=(5, 6)), gradient="equal"),
        case("the second part weighs more", _made(2, sizes=(4, 3), near=(0.0, 3.0))),
        case("every size is 4: a transpose keeps the shape", _made(4, sizes=(4, 4))),
        case("values of width 1", _made(2, sizes=(5, 1))),
        case("one query", _made(3, sizes=(1, 4))),
        case("logsumexps 60 apart", _made(2, sizes=(4, 5), near=(0.0, 60.0))),
        case("logsumexps near 2,000", _made(2, sizes=(5, 3), near=(2000.0, 2001.0))),
        case("logsumexps near -2,000", _made(2, sizes=(5, 3), near=(-2000.0, -2000.5))),
        case("logsumexps of 2,000 and -2,000", _made(2, sizes=(3, 5), near=(2000.0, -2000.0))),
        case("logsumexps of -2,000 and 2,000", _made(2, sizes=(3, 5), near=(-2000.0, 2000.0))),
        case("logsumexps that differ by 1,000 from row to row", _made(2, sizes=(4, 3), slope=1000.0)),
        case("rows in which one part saw no key and gives zeros", _made(2, sizes=(5, 4), empty=((0, 3), (1,))),
             gradient="equal"),
        case("rows in which one part saw no key and gives NaN",
             _made(2, sizes=(5, 4), empty=((0, 3), (1,)), filled=torch.nan)),
        case("rows in which one part saw no key and gives numbers",
             _made(2, sizes=(5, 4), empty=((4,), (0, 2)), filled=1e6)),
        case("rows in which one part saw no key and gives infinity",
             _made(sizes=(4, 3), empty=((1,), (3,)), filled=torch.inf)),
        case("rows in which neither saw a key", _made(2, sizes=(5, 4), empty=((0, 2), (2, 3)))),
        case("rows in which neither saw a key and both give NaN",
             _made(sizes=(4, 3), empty=((0, 2), (2, 3)), filled=torch.nan)),
        case("rows in which neither saw a key and both give numbers",
             _made(sizes=(4, 3), empty=((0, 1), (1, 3)), filled=7.0)),
        case("non-contiguous inputs", _strided),
        case("three merges in a row, from nothing", _made(2, sizes=(4, 3)), run=_three),
        case("float32", _made(2, sizes=(5, 6), dtype="float32"), tolerance=1e-4),
        case("bfloat16", _made(2, sizes=(5, 4), near=(0.0, 1.0), dtype="bfloat16")),
    ),
    mistakes=(*WEIGHTS, *LOGSUMEXP, *ROWS),
    hints=(
        "exp(lse) is the sum of the exponentials that a part saw. What share of all of them is part a's, and what "
        "share is part b's?",
        "The two outputs are averages; the whole is the average of both, weighted by these shares, "
        "one per row. The two sums add up, and the logarithm of that is the new lse.",
        "exp(2000) is infinite, but only differences count: measure both against the larger lse.",
        "0 · NaN is NaN: what an empty part holds has to be replaced before it is multiplied. "
        "Where both are empty there is nothing to divide by: what may be put there instead?",
    ),
)
