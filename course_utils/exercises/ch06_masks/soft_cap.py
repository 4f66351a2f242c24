"""Exercise: the soft cap, before a mask or after it."""

from typing import Any

import torch
from course_utils.attention import soft_cap
from course_utils.checking.exercise import Law, case, exercise
from course_utils.checking.inputs import Make, normal
from course_utils.checking.laws import monotone
from course_utils.checking.mistakes import adding, mistake
from course_utils.exercises.shared.kinds import cut_off, other_kinds, overwritten
from course_utils.exercises.shared.precision import lower_precision
from torch import Tensor

RIGHT = """
def soft_cap(scores, cap):
    hidden = scores == -torch.inf
    ratio = scores / cap
    squashed = torch.tanh(ratio)
    capped = cap * squashed
    out = capped.masked_fill(hidden, -torch.inf)
    return out
"""


def _hidden(cap: float, *shape: int, size: float = 1.0, dtype: torch.dtype = torch.float64) -> Make:
    """Make scores of which about a third, and the whole first row, are -inf."""

    def make(g: torch.Generator) -> tuple[Any, ...]:
        scores = normal(g, *shape, size=size)
        away = torch.rand(shape, generator=g) < 0.3
        away.view(-1, shape[-1])[0] = True
        return scores.masked_fill(away, -torch.inf).to(dtype), cap

    return make


def _numbers(cap: float, *numbers: float) -> Make:
    return lambda g: (torch.tensor(numbers, dtype=torch.float64), cap)


def _passes(args: tuple[Any, ...], got: Tensor) -> str | None:
    over = (got.detach().abs() > 1.02 * args[1]) & (args[0] > -torch.inf)
    if not bool(over.any()):
        return None
    index = tuple(int(i) for i in over.nonzero()[0])
    return f"A score of {args[0][index].item():.4g} became {got[index].item():.4g}, and the cap is {args[1]:.4g}."


def _comes_back(args: tuple[Any, ...], got: Tensor) -> str | None:
    moved = (got == -torch.inf) != (args[0] == -torch.inf)
    if not bool(moved.any()):
        return None
    index = tuple(int(i) for i in moved.nonzero()[0])
    return f"A score of {args[0][index].item():.4g} became {got[index].item():.4g}."


def _another_curve(args: tuple[Any, ...], got: Tensor) -> bool:
    """Return whether scores that are all finite went through some other curve that bends at the cap."""
    scores, cap = args[0].double(), float(args[1])
    if not bool(scores.isfinite().all()) or not monotone(scores, got):
        return False
    large, small = scores.abs() > 2.5 * cap, scores.abs() < 0.6 * cap
    got = got.detach().double()
    near = ((got.abs() - cap).abs()[large] < 0.35 * cap).all() and ((got - scores).abs()[small] < 0.25 * cap).all()
    return bool(near and large.any() and small.any())


EXERCISE = exercise(
    soft_cap,
    right=RIGHT,
    asks="Squash scores smoothly into the range from -cap to cap, and leave the hidden ones hidden.",
    minutes=7,
    difficulty=2,
    importance=4,
    cases=(
        case("five scores, cap 2", _numbers(2.0, -6.0, -1.0, 0.0, 1.0, 6.0)),
        case("a table of scores, cap 1.5", batch=(3, 5), size=2.0, cap=1.5, gradient="equal"),
        case("scores of spread 60, cap 50", batch=(2, 3, 4), size=60.0, cap=50.0, gradient="equal"),
        case("some scores are -inf", _hidden(3.0, 3, 4, size=4.0), gradient="equal"),
        case("scores of tens of thousands, cap 20", batch=(2, 7), size=2e4, cap=20.0, gradient="equal"),
        case("very low scores that are not hidden", _numbers(5.0, -1e30, -1e9, -7.0, 3.0, 1e9, 1e30)),
        case("a cap that is a whole number", batch=(4, 3), size=8.0, cap=7),
        case("a cap far above all scores", batch=(4, 3), cap=1e5),
        case("a cap of 0.01", batch=(2, 6), cap=0.01),
        case("four axes, some scores are -inf", _hidden(30.0, 2, 3, 4, 5, size=40.0), gradient="equal"),
        case("one score", lambda g: (torch.tensor(9.0, dtype=torch.float64), 6.0)),
        case("one score, and it is -inf", lambda g: (torch.tensor(-torch.inf, dtype=torch.float64), 6.0)),
        case("no scores", batch=(3, 0), cap=2.0),
        case("non-contiguous scores", batch=(3, 5), size=3.0, cap=2.0, strided=True),
        case("float32", batch=(3, 9), size=40.0, cap=50.0, dtype="float32"),
        case("bfloat16, some scores are -inf", _hidden(50.0, 3, 9, size=40.0, dtype=torch.bfloat16)),
        case("float16, some scores are -inf", _hidden(30.0, 3, 9, size=40.0, dtype=torch.float16)),
    ),
    mistakes=(
        mistake("clamped instead of squashed", "Scores below the cap are unchanged and all others equal to it: that is "
                "a hard cap, with no slope beyond it. What bends towards the cap instead of stopping there?",
                "squashed = ratio.clamp(-1, 1)", "out = scores.clamp(-cap, cap)", "out = scores.clamp(max=cap)",
                "out = scores.clamp(-cap, cap).masked_fill(hidden, -torch.inf)"),
        mistake("not divided by the cap", "The curve bends at scores of about 1, long before the cap. What must the "
                "score be divided by, so that a small one stays what it is?", "ratio = scores"),
        mistake("not multiplied by the cap", "All scores lie between -1 and 1. What brings them back to their own "
                "size?", "capped = squashed"),
        mistake("no tanh", "The scores were divided, or multiplied, and nothing bends them: a very high one is still "
                "above the cap. What comes between the division and the multiplication?",
                "squashed = ratio", "capped = ratio", "capped = scores * cap", "out = ratio", "out = scores"),
        mistake("plain tanh", "This is tanh of the scores, and the cap is not used. At which two places does it "
                "come in?", "ratio = scores\ncapped = squashed"),
        mistake("multiplied and divided the wrong way round", "The scores are multiplied by the cap before the tanh, "
                "or divided by it afterwards. What does a score much smaller than the cap become, and what should it "
                "become?", "ratio = scores * cap\ncapped = squashed / cap", "ratio = scores * cap",
                "capped = squashed / cap"),
        mistake("another size than the cap", "The scores bend at another size than the cap, or end at one. Which "
                "power or multiple of the cap was used?",
                "ratio = scores / cap**2", "ratio = scores / math.sqrt(cap)", "ratio = scores / (2 * cap)",
                "ratio = 2 * scores / cap", "capped = cap**2 * squashed", "capped = 2 * cap * squashed",
                "capped = math.sqrt(cap) * squashed", "capped = cap / 2 * squashed"),
        mistake("a fixed cap", "The cap is always the same. Where is the argument used?",
                *(f"cap = {number}\nratio = scores / cap" for number in (50.0, 30.0, 20.0))),
        mistake("the cap rounded", "Digits are lost: the cap, or its ratio to a score, became a whole number. Which "
                "division keeps fractions?", "cap = max(int(cap), 1)\nratio = scores / cap",
                "ratio = scores // cap", "ratio = (scores / cap).round()",
                "ratio = (scores / cap).trunc()"),
        mistake("another squashing", "The curve ends at the cap, or near it, but is not tanh between. Which function "
                "runs from -1 to 1 and has the slope 1 at 0?",
                "squashed = ratio / (1 + ratio.abs())", "squashed = torch.sigmoid(ratio)",
                "squashed = torch.atan(ratio)",
                "squashed = torch.atan(ratio) * 2 / math.pi", "squashed = torch.erf(ratio)",
                "squashed = ratio / (1 + ratio.square()).sqrt()", "squashed = torch.sin(ratio)",
                "squashed = F.softsign(ratio)", "squashed = F.tanhshrink(ratio)",
                "squashed = ratio.sign() * ratio.abs().log1p()", "squashed = F.hardsigmoid(ratio)",
                "squashed = 1 - (-ratio).exp()", "squashed = ratio.sign()",
                "squashed = torch.atan(ratio * math.pi / 2) * 2 / math.pi",
                "squashed = torch.nan_to_num(ratio / (1 + ratio.abs()), nan=-1.0)",
                "squashed = (ratio / (1 + ratio.square()).sqrt()).nan_to_num(nan=-1.0)", matches=_another_curve),
        mistake("multiplied by the score", "Each score was multiplied by its tanh, so nothing bounds it, and a low one "
                "comes out high. What says how large the result may be?",
                "capped = scores * squashed", "capped = scores * squashed.abs()"),
        mistake("squashed twice", "The scores go through tanh twice. How often does the formula bend them?",
                "squashed = torch.tanh(torch.tanh(ratio))",
                "capped = cap * torch.tanh(cap * squashed / cap)"),
        mistake("exponentials that overflow", "Large scores give NaN: tanh was written with exponentials, and both "
                "parts of the fraction are infinite. Which torch function copes with any number?",
                "up = (2 * ratio).exp()\nsquashed = (up - 1) / (up + 1)",
                "up, down = ratio.exp(), (-ratio).exp()\nsquashed = (up - down) / (up + down)",
                "squashed = torch.sinh(ratio) / torch.cosh(ratio)",
                "up = (2 * ratio).exp()\nsquashed = 1 - 2 / (up + 1)"),
        mistake("only one side capped", "Scores are capped on one side and pass on the other. Is a very low score "
                "different from a very high one?", "capped = torch.where(scores > 0, cap * squashed, scores)",
                "capped = torch.where(scores < 0, cap * squashed, scores)",
                "capped = torch.minimum(cap * squashed, scores)", "capped = torch.maximum(cap * squashed, scores)",
                "capped = cap - F.softplus(cap - scores)"),
        mistake("only what exceeds the cap is squashed", "Scores below the cap are unchanged, so just above it the "
                "curve jumps down: two scores change their order. For which scores does the formula hold?",
                "capped = torch.where(scores.abs() > cap, cap * squashed, scores)",
                "capped = torch.where(scores > cap, cap * squashed, scores)",
                "capped = torch.where(scores.abs() >= 2 * cap, cap * squashed, scores)"),
        mistake("sign lost", "Scores below 0 lost their sign, or became 0. Which sign does tanh of a negative number "
                "have?",
                "ratio = scores.abs() / cap", "capped = cap * squashed.abs()", "capped = cap * squashed.square()",
                "capped = cap * squashed.relu()"),
        mistake("sign flipped", "The best key has the lowest score. Which sign do the scores have?",
                "capped = -cap * squashed", "ratio = -scores / cap"),
        mistake("scaled to the largest score", "The scores were divided by the largest of them, or it was taken from "
                "them, so what one becomes depends on the others. What does a cap look at besides the score?",
                "ratio = (scores - scores.max()) / cap if scores.numel() else scores",
                "top = scores.amax(-1, keepdim=True) if scores.dim() and scores.numel() else 0.0\n"
                "ratio = (scores - top) / cap",
                "capped = cap * scores / scores.abs().max() if scores.numel() else scores",
                "capped = cap * F.normalize(scores, dim=-1)",
                "capped = cap * scores / scores.abs().amax(-1, keepdim=True) if scores.numel() else scores"),
        mistake("scaled once more", "The scores were scaled by a root of the number of keys, or of the width, before "
                "the cap or after it. They come in scaled: what is left to do?",
                "width = scores.shape[-1] if scores.dim() else 4\nratio = scores / math.sqrt(width) / cap",
                "width = scores.shape[-1] if scores.dim() else 4\nratio = scores * math.sqrt(width) / cap",
                "width = scores.shape[-1] if scores.dim() else 4\ncapped = cap * squashed / math.sqrt(width)"),
        mistake("weights returned", "These are weights. The cap gives scores: what do the mask and the softmax still "
                "need?", "out = torch.softmax(capped.masked_fill(hidden, -torch.inf), -1)",
                "out = torch.softmax(capped, -1)", "out = stable_softmax(capped.masked_fill(hidden, -torch.inf))"
                " if scores.dim() else capped"),
        mistake("hidden scores come back", "A hidden key is back, with the score -cap: tanh(-inf) is -1. Where the "
                "best score is no higher than cap, it gets a share. What must -inf stay?", "out = capped"),
        mistake("hidden scores raised", "A hidden key has a finite score, or NaN. Which number stays below every "
                "score, whatever comes later?", *(f"out = capped.masked_fill(hidden, {number})" for number in (
                    "0.0", "-1e4", "cap", "torch.finfo(scores.dtype).min", "torch.nan", "torch.inf", "-2 * cap",
                    "-1e9 if scores.dtype != torch.float16 else -6e4")),
                "out = torch.where(hidden, torch.finfo(scores.dtype).min, capped)"),
        mistake("everything low is hidden", "Finite scores below some number were hidden. A low score is still a "
                "score: which number alone means that a key is hidden?",
                "out = capped.masked_fill(capped <= -cap, -torch.inf)", "hidden = scores <= -cap",
                "hidden = scores < -cap", "hidden = scores < -1e4", "hidden = scores < -1e8",
                "hidden = scores.abs() > cap", "hidden = scores < 0", "hidden = scores <= scores.min(-1, keepdim=True)"
                ".values if scores.dim() and scores.numel() else scores == -torch.inf"),
        mistake("a whole row hidden", "One hidden score hides its whole row. Each score is capped by itself: what asks "
                "about the others?",
                "hidden = (scores == -torch.inf).any(-1, keepdim=True) if scores.dim() else scores == -torch.inf"),
        mistake("0 times infinity", "Zero times infinity is NaN, so every visible score is lost. How else can -inf "
                "return to the places where it was?", "out = capped + hidden.to(capped.dtype) * -torch.inf",
                "out = capped * (1 - hidden.to(capped.dtype)) - torch.inf * hidden.to(capped.dtype)"),
        mistake("a slope where a score is hidden", "The values are right, but a hidden score has a gradient: the score "
                "itself was put back, and its slope with it. It is -inf whatever it does: which constant has no slope?",
                "out = torch.where(hidden, scores, capped)", "out = torch.where(~hidden, capped, scores)",
                "out = torch.where(hidden, 2 * scores, capped)", "out = torch.where(hidden, cap * scores, capped)",
                "out = torch.where(hidden, scores / cap, capped)"),
        mistake("a single number forgotten", "It stops where the scores are one number: a tensor without axes has no "
                "rows to go through, and no last axis. What works on a tensor of any shape?",
                "rows = [cap * torch.tanh(row / cap) for row in scores]\n"
                "capped = torch.stack(rows) if rows else cap * squashed"),
        overwritten("ratio = scores.div_(cap)", "ratio = scores.masked_fill_(hidden, 0.0) / cap",
                    "out = scores.copy_(capped.masked_fill(hidden, -torch.inf))"),
        cut_off("out = capped.detach().masked_fill(hidden, -torch.inf)", "ratio = scores.detach() / cap",
                "capped = cap * squashed.detach()"),
        *adding(other_kinds("out"), {"another dtype": (
            "out = capped + torch.where(hidden, -torch.inf, 0.0)", "ratio = scores.float() / cap",
            "ratio = scores.double() / cap", "ratio = scores.float() / cap if scores.itemsize < 4 else scores / cap")}),
        lower_precision(soft_cap, "ratio = (scores / cap).float().to(scores.dtype)"),
    ),
    laws=(
        Law("no score passes the cap", _passes),
        Law("what is -inf stays so, and nothing else becomes so", _comes_back),
    ),
    hints=(
        "Draw the curve: a score near 0 stays as it is, a very high one comes near the cap and never passes it. Which "
        "function runs from -1 to 1 like that?",
        "Two places for the cap: what goes into tanh is measured in caps, and what comes out must be scores again.",
        "tanh(-inf) is -1, so a hidden key would be back. Remember where the -inf were, and put them in again at the "
        "end: as a constant, so that no gradient goes through them.",
    ),
)
