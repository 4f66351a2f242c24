"""Exercise: bring each token's vector to one size, its mean left where it is."""

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
from course_utils.models import rms_norm

RIGHT = """
def rms_norm(x, gain, eps=1e-6):
    room = eps
    wide = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
    centred = wide
    variance = centred.square().mean(-1, keepdim=True)
    spread = (variance + room).sqrt()
    normed = centred / spread
    stretched = normed * gain
    out = stretched.to(x.dtype)
    return out
"""


def _rows(size: float, dtype: str, d: int = 8, mean: float = 0.0) -> Make:
    """Make rows of a size, and a gain, in a dtype."""

    def make(g: torch.Generator) -> tuple[Any, ...]:
        kind: torch.dtype = getattr(torch, dtype)
        return (mean + size * normal(g, 3, 2, d)).to(kind), normal(g, d, dtype=kind)

    return make


def _unstretched(g: torch.Generator) -> tuple[Any, ...]:
    """Make rows in bfloat16 that are rounded only once, whether before the gain or after it."""
    return normal(g, 3, 2, 8, dtype=torch.bfloat16), torch.ones(8, dtype=torch.bfloat16)


EXERCISE = exercise(
    rms_norm,
    right=RIGHT,
    asks="Divide each row by the root of its mean square, then multiply by the gain.",
    minutes=10,
    difficulty=2,
    importance=5,
    cases=(
        case("2 sequences of 5 tokens, width 6", batch=(2, 5), d=6, gradient="equal"),
        case("one row of 4", d=4, gradient="equal"),
        case("every size is 4", batch=(4, 4), d=4),
        case("three leading axes", batch=(2, 1, 3), d=5),
        case("rows around 7", _rows(2.0, "float64", mean=7.0)),
        case("rows of size 0.001: eps counts", _rows(0.001, "float64"), gradient="equal"),
        case("eps=0.5", batch=(3, 2), d=4, eps=0.5),
        case("eps=1e-12 and rows of size 1e-5", lambda g: (*_rows(1e-5, "float64")(g), 1e-12)),
        case("rows of zeros", lambda g: (torch.zeros(2, 3, 5, dtype=torch.float64), normal(g, 5)), gradient="finite"),
        case("rows of one number", batch=(2, 3), d=1),
        case("non-contiguous input", batch=(2, 3), d=8, strided=True),
        case("float32", batch=(2, 3), d=5, dtype="float32"),
        case("bfloat16", _rows(1.0, "bfloat16")),
        case("float16", _rows(1.0, "float16"), tolerance=3e-3),
        case("float16, numbers of 400", _rows(400.0, "float16"), tolerance=3e-3),
        case("float16, numbers of 0.0001", _rows(1e-4, "float16"), tolerance=3e-3),
        case("bfloat16, every gain is 1", _unstretched, tolerance=1e-3),
    ),
    mistakes=(
        norm_inside("return F.rms_norm(x, gain.shape, gain, eps)", "return F.rms_norm(x, gain.shape, eps=eps) * gain"),
        mistake("the mean subtracted", "The rows lost their mean, as in LayerNorm. What does this norm leave out, and "
                "what is left of the formula?", "centred = wide - wide.mean(-1, keepdim=True)"),
        mistake("the size measured from the mean", "The rows keep their mean, but their size is measured from it, as a "
                "standard deviation is. From where does this norm measure?",
                "variance = wide.var(-1, keepdim=True, unbiased=False)", "variance = wide.var(-1, keepdim=True)"),
        mistake("the mean of squares divided by d - 1", "The squares were divided by one less than there are. How many "
                "numbers does a row have?", "variance = centred.square().sum(-1, keepdim=True) / (x.shape[-1] - 1)"),
        mistake("squares in 16 bits", "Squares were made in 16 bits. The square of 300 does not fit into float16, "
                "whose largest number is 65504, and that of 0.0001 is 0 there; bfloat16 has the room, but not the "
                "digits. In which dtype should the squares be made?",
                "wide = x", "variance = x.square().mean(-1, keepdim=True)",
                "variance = x.square().mean(-1, keepdim=True).to(wide.dtype)",
                "wide = x.float() if x.dtype == torch.bfloat16 else x",
                "wide = x.float() if x.dtype == torch.float16 else x"),
        mistake("float32 comes back", "The result has a different dtype from x: what was widened must be narrowed "
                "again. When is the last moment for it?", "out = stretched"),
        in_float32(rms_norm, "wide = x.float()", "wide = x.float()\nstretched = normed * gain.float()",
                   "variance = centred.float().square().mean(-1, keepdim=True)"),
        over_another_axis("variance = centred.square().mean({}, keepdim=True)"),
        mistake("an axis lost", "`mean` without `keepdim` loses the axis, so a row is divided by another row's number, "
                "or the shapes do not fit. How does a number stay in line with its own row?",
                "variance = centred.square().mean(-1)"),
        one_for_all("variance = {}.to(wide.dtype).square().mean(-1, keepdim=True)"),
        overwritten("normed = wide.div_(spread)", "out = x.copy_(stretched)", "normed = x.copy_(centred / spread)"),
        mistake("the gain left out", "The gain changes nothing. What does it do to each feature?",
                "stretched = normed"),
        mistake("the gain added", "The gain was added. Which operation stretches a feature?",
                "stretched = normed + gain"),
        mistake("one plus the gain", "The rows were multiplied by 1 + gain, as Gemma does, whose gains start at 0. "
                "Here they start at 1: what is the factor?", "stretched = normed * (1 + gain)"),
        mistake("the gain before the norm", "The features were stretched before the norm, so the gain counts in the "
                "row's size. When does the gain act?", "centred = wide * gain\nstretched = normed"),
        mistake("the size cut off from the gradient", "The values are right, but the row's size counts as a constant, "
                "so the gradient is wrong. Does it depend on x?", "spread = (variance + room).sqrt().detach()"),
        *eps("1e-6"),
        *SPREAD,
    ),
    hints=(
        "It is LayerNorm with one step left out. Which number of the row is not needed any more?",
        "Square, mean over the last axis (`keepdim=True`), eps, root: that is the row's size.",
        "In which order do the dtypes come: x's own, then one with room for squares, and x's own again at the end?",
        "Only float16 and bfloat16 need float32; float64 must stay what it is.",
    ),
)
