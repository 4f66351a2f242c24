"""Exercise: bring each token's vector to mean 0 and spread 1, then stretch and shift it."""

from typing import Any

import torch
from course_utils.checking.exercise import case, exercise
from course_utils.checking.inputs import Make, normal
from course_utils.checking.mistakes import mistake
from course_utils.exercises.shared.kinds import overwritten
from course_utils.exercises.shared.norms import (
    SPREAD,
    eps,
    in_float32,
    norm_inside,
    one_for_all,
    over_another_axis,
)
from course_utils.models import layer_norm

RIGHT = """
def layer_norm(x, gain, bias, eps=1e-5):
    room = eps
    mean = x.mean(-1, keepdim=True)
    centred = x - mean
    variance = centred.square().mean(-1, keepdim=True)
    spread = (variance + room).sqrt()
    normed = centred / spread
    stretched = normed * gain
    out = stretched + bias
    return out
"""


def _rows(mean: float, spread: float, d: int = 6, dtype: str = "float64", batch: tuple[int, ...] = (2, 5)) -> Make:
    """Make rows that lie around a mean, gain and bias."""

    def make(g: torch.Generator) -> tuple[Any, ...]:
        kind: torch.dtype = getattr(torch, dtype)
        x = (mean + spread * normal(g, *batch, d)).to(kind)
        return x, normal(g, d, dtype=kind), normal(g, d, dtype=kind)

    return make


EXERCISE = exercise(
    layer_norm,
    right=RIGHT,
    asks="Normalise each row over its last axis, then multiply by the gain and add the bias.",
    minutes=10,
    difficulty=2,
    importance=5,
    cases=(
        case("2 sequences of 5 tokens, width 6", batch=(2, 5), d=6, gradient="equal"),
        case("one row of 4", d=4, gradient="equal"),
        case("every size is 4", batch=(4, 4), d=4),
        case("three leading axes", batch=(2, 1, 3), d=5),
        case("rows around 7", _rows(7.0, 2.0, 5)),
        case("rows with a spread of 0.003: eps counts", _rows(1.0, 0.003), gradient="equal"),
        case("eps=0.5", batch=(3, 2), d=4, eps=0.5),
        case("eps=1e-12 and a spread of 1e-5", lambda g: (*_rows(0.0, 1e-5)(g), 1e-12)),
        case("rows of equal numbers", lambda g: (normal(g, 3, 2, 1).expand(3, 2, 5).clone(), *_rows(0, 1, 5)(g)[1:]),
             gradient="finite"),
        case("rows of one number", batch=(2, 3), d=1),
        case("large numbers", batch=(2, 3), d=7, size=1e4),
        case("non-contiguous input", batch=(2, 3), d=8, strided=True),
        case("float32", batch=(2, 3), d=5, dtype="float32"),
        case("float32, 1000 spreads away from zero", _rows(1000.0, 1.0, 64, "float32", (12,)), tolerance=5e-3),
        case("bfloat16", batch=(2, 3), d=6, dtype="bfloat16"),
    ),
    mistakes=(
        norm_inside("return F.layer_norm(x, gain.shape, gain, bias, eps)",
                    "return F.layer_norm(x, gain.shape, eps=eps) * gain + bias"),
        mistake("the variance divided by d - 1", "The spread is slightly too large: the variance was divided by d - 1, "
                "as torch's `var` and `std` do by default. These d numbers are all there are, not a sample: what is "
                "it divided by?", "variance = centred.square().sum(-1, keepdim=True) / (x.shape[-1] - 1)"),
        mistake("the mean of squares less the squared mean", "Far from zero the result is lost: two large numbers that "
                "are almost equal were subtracted, and their digits cancel. Which numbers can be squared instead, once "
                "the mean is known?", "variance = x.square().mean(-1, keepdim=True) - mean.square()",
                "variance = (x.square().mean(-1, keepdim=True) - mean.square()).clamp_min(0)"),
        mistake("the mean not subtracted", "The rows keep their mean. Which two steps make mean 0 and spread 1?",
                "centred = x", "normed = x / spread"),
        mistake("spread measured from zero", "The mean was subtracted, but the spread is that of the numbers before "
                "subtraction. From where is a spread measured?", "variance = x.square().mean(-1, keepdim=True)"),
        mistake("the mean subtracted after the division", "The row was divided first, and then its mean was "
                "subtracted, which had not been divided. What comes first?", "normed = x / spread - mean"),
        mistake("another number than the mean subtracted", "The rows do not have mean 0: their median, or their "
                "smallest number, was subtracted. Which number makes them sum to 0?",
                "mean = x.median(-1, keepdim=True).values", "mean = x.amin(-1, keepdim=True)"),
        mistake("the sign flipped", "The rows point the other way. What is subtracted from what?",
                "centred = mean - x"),
        one_for_all("mean = {}.mean(-1, keepdim=True)\nvariance = ({} - mean).square().mean(-1, keepdim=True)"),
        over_another_axis("mean = x.mean({}, keepdim=True)",
                          "variance = centred.square().mean({}, keepdim=True)"),
        mistake("an axis lost", "`mean` without `keepdim` loses the axis, so the row's number is subtracted from "
                "another row, or the shapes do not fit. How does a number stay in line with its own row?",
                "mean = x.mean(-1)", "variance = centred.square().mean(-1)",
                "mean = x.mean(-1)\nvariance = centred.square().mean(-1)"),
        mistake("the gain on the bias", "The bias was multiplied by the gain. In which order do the two act?",
                "stretched = normed + bias\nout = stretched * gain"),
        mistake("gain and bias exchanged", "The gain was added and the bias multiplied. Which of them stretches?",
                "stretched = normed * bias\nout = stretched + gain"),
        mistake("the gain left out", "The gain changes nothing. What does it do to each feature?",
                "stretched = normed"),
        mistake("the gain added", "The gain was added. Which operation stretches a feature?",
                "stretched = normed + gain"),
        mistake("one plus the gain", "The rows were multiplied by 1 + gain, as Gemma does, whose gains start at 0. "
                "Here they start at 1: what is the factor?", "stretched = normed * (1 + gain)"),
        mistake("the gain before the norm", "The features were stretched before the norm, which takes most of it back. "
                "When does the gain act?", "mean = (x * gain).mean(-1, keepdim=True)\ncentred = x * gain - mean\n"
                "stretched = normed"),
        mistake("the bias divided too", "The bias was divided by the spread with everything else. In which order do "
                "division, gain and bias act?", "stretched = centred * gain\nout = (stretched + bias) / spread",
                "normed = centred + bias\nstretched = normed * gain / spread\nout = stretched"),
        mistake("the bias left out", "The bias changes nothing. When is it added?", "out = stretched"),
        mistake("the bias subtracted", "The bias has the wrong sign. Which way does it shift?",
                "out = stretched - bias"),
        mistake("statistics cut off from the gradient", "The values are right, but mean or spread count as constants, "
                "so the gradient is wrong. Do they depend on x?",
                "mean = x.mean(-1, keepdim=True).detach()", "spread = (variance + room).sqrt().detach()",
                "mean = x.mean(-1, keepdim=True).detach()\nspread = (variance + room).sqrt().detach()"),
        overwritten("centred = x.sub_(mean)",
                "out = x.copy_(stretched + bias)", "normed = x.copy_(centred / spread)",
                "out = x.copy_(stretched + bias).clone()"),
        in_float32(layer_norm, "normed = (centred.float() / spread.float()).to(x.dtype)",
                   "variance = centred.float().square().mean(-1, keepdim=True)"),
        *eps("1e-5"),
        *SPREAD,
    ),
    hints=(
        "Each row is on its own. Which two numbers describe where it lies and how wide it is?",
        "`keepdim=True` keeps a row's number lined up with the row. Subtract first, then measure the spread of what is "
        "left.",
        "The variance is the mean of the squares after the subtraction; eps goes to it before the root.",
        "What is divided has mean 0 and spread 1. The gain multiplies it, feature by feature; then comes the bias.",
    ),
)
