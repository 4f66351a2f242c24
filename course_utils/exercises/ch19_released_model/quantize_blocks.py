"""Exercise: round weights to a few levels, block by block."""

from collections.abc import Callable
from typing import Any

import torch
from course_utils.checking.exercise import Law, case, exercise
from course_utils.checking.inputs import Make, normal, strided
from course_utils.checking.mistakes import mistake
from course_utils.exercises.shared.kinds import NOTHING, overwritten, writing
from course_utils.exercises.shared.precision import lower_precision
from course_utils.models import quantize_blocks
from torch import Tensor

RIGHT = """
def quantize_blocks(x, bits, block):
    steps = 2**bits - 1
    parts = x.unflatten(-1, (-1, block))
    low = parts.amin(-1, keepdim=True)
    high = parts.amax(-1, keepdim=True)
    spread = high - low
    step = spread / steps
    scale = torch.where(spread == 0, 1.0, step)
    above = parts - low
    exact = above / scale
    whole = exact.round()
    kept = whole.clamp(0, 2**bits - 1)
    levels = kept.to(torch.uint8)
    q = levels.flatten(-2)
    scales = scale.squeeze(-1)
    lows = low.squeeze(-1)
    return q, scales, lows
"""


def _clear(g: torch.Generator, bits: int, block: int, count: int, change: Callable[[Tensor], Tensor]) -> Tensor:
    """Draw blocks in which no number lies halfway between two levels, however it is computed."""
    made: list[Tensor] = []
    while len(made) < count:
        one = change(normal(g, block))
        spread = one.max() - one.min()
        place = (one - one.min()) / spread * (2**bits - 1)
        if spread == 0 or float((place - place.floor() - 0.5).abs().min()) > 0.02:
            made.append(one)
    return torch.stack(made)


def _made(
    *shape: int,
    bits: int,
    block: int,
    dtype: torch.dtype = torch.float64,
    change: Callable[[Tensor], Tensor] = lambda x: x,
    spread: bool = False,
) -> Make:
    def make(g: torch.Generator) -> tuple[Any, ...]:
        count = torch.Size(shape).numel() // block
        x = _clear(g, bits, block, count, change).reshape(shape).to(dtype)
        return strided(x) if spread else x, bits, block

    return make


def _by_hand(g: torch.Generator) -> tuple[Any, ...]:
    return torch.tensor([[-1.0, 0.5, -0.45, 0.1, 1.0, 3.2, 7.0, 4.7]], dtype=torch.float64), 2, 4


def _equal(make: Make, *rows: tuple[Any, ...]) -> Make:
    """Make the same numbers, in some of whose blocks all are equal."""

    def made(g: torch.Generator) -> tuple[Any, ...]:
        x, bits, block = make(g)
        parts = x.unflatten(-1, (-1, block))
        for number, row in enumerate(rows):
            parts[row] = (0.0, 2.7, -0.3)[number % 3]
        return x, bits, block

    return made


def _with_zero(x: Tensor) -> Tensor:
    return (x.abs() + 0.2).index_fill(0, torch.tensor([1]), 0.0)


def _outlier(x: Tensor) -> Tensor:
    return x + 40.0 * (x > 1.2)


def _again(scale: Tensor, low: Tensor, x: Tensor) -> Tensor:
    """Return the numbers of x in steps of a scale above a number, both of which a block shares."""
    block = x.shape[-1] // scale.shape[-1]
    return (x.unflatten(-1, (-1, block)) - low.unsqueeze(-1)) / scale.unsqueeze(-1)


def _too_coarse(args: tuple[Any, ...], out: Any) -> str | None:
    x, (q, scale, low) = args[0].detach(), (part.detach().double() for part in out)
    back = (q.unflatten(-1, (-1, args[2])) * scale.unsqueeze(-1) + low.unsqueeze(-1)).flatten(-2)
    room = scale.abs().repeat_interleave(args[2], -1)
    wrong = ~((back - x).abs() <= 0.51 * room + 1e-12)
    if not bool(wrong.any()):
        return None
    where = tuple(int(i) for i in wrong.nonzero()[0])
    return (
        f"At index {list(where)}, q · scale + low is {back[where].item():.4g} for x = {x[where].item():.4g}, further "
        f"away than half a step of {room[where].item():.4g}."
    )


def _another_number(args: tuple[Any, ...], got: Any) -> bool:
    """Return whether all steps are too large or too small by one factor, and the numbers rounded to them."""
    (q, scale, low), right = got, quantize_blocks(*args)
    spread = right[1] != 1
    share = (scale / right[1])[spread]
    alike = bool((share - share.mean()).abs().max() < 1e-6) and abs(float(share.mean()) - 1) > 1e-4
    levels = _again(scale, low, args[0]).round().flatten(-2)
    kept = [levels.clamp(0, 255).to(torch.uint8), levels.clamp(0, 2 ** args[1] - 1).to(torch.uint8)]
    return alike and torch.equal(low, right[2]) and any(torch.equal(q, one) for one in kept)


def _another_scale(args: tuple[Any, ...], got: Any) -> bool:
    """Return whether all is right but the scale of the blocks whose numbers are equal."""
    (q, scale, low), right = got, quantize_blocks(*args)
    parts = args[0].unflatten(-1, (-1, args[2]))
    equal = parts.amin(-1) == parts.amax(-1)
    same = torch.allclose(scale[~equal], right[1][~equal]) and torch.equal(low, right[2])
    return same and bool(equal.any()) and torch.equal(q.unflatten(-1, (-1, args[2]))[~equal],
                                                      right[0].unflatten(-1, (-1, args[2]))[~equal])


def _no_scale(args: tuple[Any, ...], got: Any) -> bool:
    parts = args[0].unflatten(-1, (-1, args[2]))
    scale = got[1][parts.amin(-1) == parts.amax(-1)]
    return _another_scale(args, got) and not bool((scale.abs() > 1e-3).any())


def _all_larger(args: tuple[Any, ...], got: Any) -> bool:
    """Return whether every scale is too large by the same small number."""
    extra = got[1] - quantize_blocks(*args)[1]
    return bool((extra > 0).all()) and float(extra.max()) < 0.1 and float(extra.max() - extra.min()) < 1e-3 * float(
        extra.max())


def _another_range(args: tuple[Any, ...], got: Any) -> bool:
    """Return whether the numbers were rounded rightly, but to steps of another size above another number."""
    (q, scale, low), right = got, quantize_blocks(*args)
    other = not (torch.allclose(scale, right[1]) and torch.allclose(low, right[2]))
    levels = _again(scale, low, args[0]).round().flatten(-2)
    return other and torch.equal(q, levels.clamp(0, 2 ** args[1] - 1).to(torch.uint8))


_ROW = "{0} = x.{1}(-1, keepdim=True).unsqueeze(-1).expand(*parts.shape[:-1], 1)"
_ALL = "{0} = parts.{1}().expand(*parts.shape[:-1], 1)"
_APART = "parts = x.unflatten(-1, (block, -1)).mT"
_ZERO = "zero = (low / scale).round()\n"

EXERCISE = exercise(
    quantize_blocks,
    right=RIGHT,
    asks="Round the numbers of each block to 2^bits levels between its least and its largest.",
    minutes=12,
    difficulty=3,
    importance=4,
    parts=("q", "scale", "low"),
    cases=(
        case("2 blocks of 4 numbers, 2 bits", _by_hand),
        case("3 rows of 4 blocks of 6 numbers, 4 bits", _made(3, 24, bits=4, block=6)),
        case("5 bits, 2 leading axes", _made(2, 3, 20, bits=5, block=4)),
        case("as many blocks as numbers in a block", _made(3, 16, bits=4, block=4)),
        case("every size is 4", _made(4, 4, 4, bits=3, block=4)),
        case("8 bits", _made(2, 18, bits=8, block=6)),
        case("1 bit", _made(3, 12, bits=1, block=4)),
        case("7 bits", _made(3, 12, bits=7, block=3)),
        case("no leading axes", _made(24, bits=4, block=8)),
        case("no leading axes, one block", _made(6, bits=3, block=6)),
        case("one block a row", _made(4, 8, bits=4, block=8)),
        case("blocks of two", _made(3, 10, bits=4, block=2)),
        case("3 leading axes", _made(2, 1, 3, 12, bits=4, block=6)),
        case("blocks of equal numbers", _equal(_made(3, 4, 12, bits=4, block=4), (0, 1, 0), (1, 2), (2, 0, 2))),
        case("all numbers are 0", _equal(_made(2, 8, bits=4, block=4), (...,))),
        case("8 bits, a block of equal numbers", _equal(_made(2, 12, bits=8, block=4), (0, 1), (1, 2))),
        case("only positive numbers", _made(3, 12, bits=4, block=6, change=lambda x: x.abs() + 3.3)),
        case("only negative numbers", _made(3, 12, bits=4, block=6, change=lambda x: -x.abs() - 3.3)),
        case("blocks whose least number is 0", _made(3, 12, bits=4, block=6, change=_with_zero)),
        case("blocks whose largest number is 0", _made(3, 12, bits=4, block=6, change=lambda x: -_with_zero(x))),
        case("some numbers far from the others", _made(4, 32, bits=4, block=8, change=_outlier)),
        case("numbers of thousands", _made(3, 12, bits=6, block=4, change=lambda x: 4e3 * x)),
        case("very small numbers", _made(3, 12, bits=6, block=4, change=lambda x: 1e-9 * x)),
        case("a non-contiguous tensor", _made(2, 8, 12, bits=4, block=4, spread=True)),
        case("float32", _made(3, 24, bits=4, block=8, dtype=torch.float32)),
        case("float32, 8 bits, blocks of equal numbers",
             _equal(_made(2, 3, 12, bits=8, block=6, dtype=torch.float32), (0, 1, 0), (1, 2, 1))),
        case("blocks of 32", _made(4, 64, bits=4, block=32)),
    ),
    mistakes=(
        NOTHING,
        mistake("another number of steps", "The steps are all too large or too small by one factor. Between 4 levels "
                "there are 3 steps: how many are there with this many bits?",
                "steps = 2**bits\nkept = whole.clamp(0, 2**bits)", "steps = 2**bits", "steps = 2**bits - 2",
                "steps = 2 ** (bits - 1)", "steps = bits", "steps = 15\nkept = whole", "steps = 255\nkept = whole",
                "steps = 2 ** (bits - 1) - 1 or 1", "steps = 2**bits + 1", "steps = 2 * bits", "steps = block",
                "steps = 2**bits\nkept = whole", "steps = 15", "steps = 255", matches=_another_number),
        mistake("symmetric", "The range was made symmetric about 0, or begins there, as for numbers of both signs and "
                "one size. Where does the range of a block begin, where does it end?",
                "low = -parts.abs().amax(-1, keepdim=True)\nhigh = -low",
                "low = torch.zeros_like(parts[..., :1])\nhigh = parts.abs().amax(-1, keepdim=True)",
                "low = torch.zeros_like(parts[..., :1])",
                "steps = 2 ** (bits - 1) - 0.5\nspread = parts.abs().amax(-1, keepdim=True)\nabove = parts\n"
                "low = torch.zeros_like(parts[..., :1])\nkept = whole\nlevels = kept.to(torch.int8)",
                "steps = max(2 ** (bits - 1) - 1, 1)\nspread = parts.abs().amax(-1, keepdim=True)\nabove = parts\n"
                "low = torch.zeros_like(parts[..., :1])\nkept = whole\nlevels = kept.to(torch.int8)"),
        mistake("zero always in the range", "Where all numbers have one sign, the range was stretched to 0, as "
                "activations and padding need it. Which two numbers of the block bound it?",
                "low = parts.amin(-1, keepdim=True).clamp(max=0)\nhigh = parts.amax(-1, keepdim=True).clamp(min=0)",
                "low = parts.amin(-1, keepdim=True).clamp(max=0)", "high = parts.amax(-1, keepdim=True).clamp(min=0)"),
        mistake("one scale per row", "All blocks of a row share their least or their largest number. What do the "
                "numbers of a block share?",
                _ROW.format("low", "amin") + "\n" + _ROW.format("high", "amax"), _ROW.format("low", "amin"),
                _ROW.format("high", "amax"),
                "low = x.amin(-1, keepdim=True)\nhigh = x.amax(-1, keepdim=True)\nparts = x\n"
                "q = levels\nscales = scale\nlows = low",
                "low = x.amin(-1, keepdim=True)\nhigh = x.amax(-1, keepdim=True)\nparts = x\nq = levels"),
        mistake("one scale for the whole tensor", "All blocks share one range. A block's own least and largest number "
                "bound its levels.", _ALL.format("low", "amin") + "\n" + _ALL.format("high", "amax"),
                _ALL.format("low", "amin"), _ALL.format("high", "amax"),
                "low = parts.amin()\nhigh = parts.amax()\nscales = scale\nlows = low",
                "low = parts.amin()\nhigh = parts.amax()\nscales = scale.expand(*parts.shape[:-1])\n"
                "lows = low.expand(*parts.shape[:-1])"),
        mistake("a range along another axis", "The least and largest were taken across blocks or rows. Along which "
                "axis of (..., blocks, block) do the numbers of a block lie?",
                "low = parts.amin(-2, keepdim=True)\nhigh = parts.amax(-2, keepdim=True)",
                "low = parts.amin(-2, keepdim=True)\nhigh = parts.amax(-2, keepdim=True)\n"
                "scales = scale.squeeze(-2)\nlows = low.squeeze(-2)",
                "low = parts.amin(0, keepdim=True)\nhigh = parts.amax(0, keepdim=True)",
                "low = parts.amin(0, keepdim=True).amin(-1, keepdim=True).expand(*parts.shape[:-1], 1)\n"
                "high = parts.amax(0, keepdim=True).amax(-1, keepdim=True).expand(*parts.shape[:-1], 1)"),
        mistake("blocks of far-apart numbers", "The numbers of a block lie far apart in x. Neighbours share a scale: "
                "when an axis is cut in two, which of the two runs faster?",
                _APART + "\nq = levels.mT.flatten(-2)", _APART,
                "parts = x.unflatten(-1, (block, -1))\nlow = parts.amin(-2, keepdim=True)\n"
                "high = parts.amax(-2, keepdim=True)\nscales = scale.squeeze(-2)\nlows = low.squeeze(-2)"),
        mistake("block taken for their number", "A row was cut into `block` blocks. `block` is how many numbers share "
                "a scale: `split` takes the size of a piece, `chunk` the number of pieces.",
                "parts = x.unflatten(-1, (block, -1))"),
        mistake("blocks across rows", "Rows or other axes were mixed as the blocks were cut. Only the last axis is "
                "cut, and in memory its numbers need not be neighbours.",
                "parts = x.mT.reshape(*x.shape[:-1], -1, block) if x.dim() > 1 else x.unflatten(-1, (-1, block))"),
        mistake("the leading axes lost", "A result came back flat. x may have any number of leading axes, and all "
                "three results keep them.", "parts = x.reshape(-1, block)\nq = levels.reshape(x.shape)",
                "parts = x.reshape(-1, block)", "q = levels.flatten()",
                "q = levels.flatten(0, -2)\nscales = scale.flatten()\nlows = low.flatten()"),
        mistake("view without contiguous memory", "It fails where the numbers of a row are not neighbours in memory. "
                "What copies them where it must?",
                "parts = x.view(-1).view(*x.shape[:-1], -1, block)", "parts = x.view(-1, x.shape[-1])"
                ".view(*x.shape[:-1], -1, block)"),
        mistake("zero point rounded", "The least number was rounded to a whole number of steps, as a zero point is. "
                "Here it is kept as it is: what is level 0?",
                _ZERO + "exact = parts / scale - zero", _ZERO + "exact = parts / scale - zero\nlows = "
                "(zero * scale).squeeze(-1)", _ZERO + "exact = (parts / scale).round() - zero\nlows = "
                "(zero * scale).squeeze(-1)", _ZERO + "exact = (parts / scale).round() - zero",
                _ZERO + "exact = parts / scale - zero\nlows = -zero.squeeze(-1)",
                _ZERO + "exact = parts / scale - zero\nlows = zero.squeeze(-1)",
                _ZERO + "exact = (parts / scale).round() - zero\nlows = -zero.squeeze(-1)",
                _ZERO + "exact = (parts / scale).round() - zero\nkept = whole",
                "above = parts - low.round()", "above = parts - low.round()\nlows = low.round().squeeze(-1)"),
        mistake("another number than the minimum returned", "`low` is not the block's least number, though the levels "
                "were counted from it. What must be added to q · scale?",
                "lows = high.squeeze(-1)", "lows = -low.squeeze(-1)", "lows = (low / scale).squeeze(-1)",
                "lows = (-low / scale).squeeze(-1)", "lows = parts.mean(-1)", "lows = parts[..., 0]",
                "lows = torch.zeros_like(low).squeeze(-1)", "lows = (-low / scale).round().squeeze(-1)"),
        mistake("a step of zero", "Where all numbers of a block are equal, the scale is 0 or almost, and 0 / 0 is NaN. "
                "Which scale is asked for there?", "scale = step", "scale = step.clamp(min=1e-8)",
                "scale = step\nwhole = exact.nan_to_num().round()", "scale = step.clamp(min=1e-12)",
                "scale = step.clamp(min=torch.finfo(x.dtype).eps)",
                "scale = torch.where(spread == 0, 0.0, step)\nwhole = exact.nan_to_num().round()", matches=_no_scale),
        mistake("another scale for equal numbers", "Where all numbers of a block are equal, the scale is not the one "
                "that is asked for. Was it set before or after a division?",
                "scale = torch.where(spread == 0, 1.0, spread) / steps", matches=_another_scale),
        mistake("the scale 1 elsewhere too", "A block whose numbers differ has the scale 1. Which blocks are meant?",
                "scale = torch.where(low == 0, 1.0, step)", "scale = torch.where(high == 0, 1.0, step)",
                "scale = torch.where((parts == 0).any(-1, keepdim=True), 1.0, step)",
                "scale = torch.where((parts == 0).all(-1, keepdim=True), 1.0, step)",
                "scale = torch.where((spread == 0).any(), 1.0, step)", "scale = torch.ones_like(step)"),
        mistake("an epsilon in every scale", "Every scale is too large by the same small number. Only where all "
                "numbers are equal is there something to avoid.", "scale = step + 1e-8", "scale = step + 1e-5",
                "step = (spread + 1e-8) / steps", "scale = step + 1e-6", "scale = step + 1e-10", "scale = step + 1e-12",
                "step = (spread + 1e-6) / steps", "step = (spread + 1e-5) / steps", matches=_all_larger),
        mistake("small scales raised", "Small scales were raised, or blocks of small numbers taken for blocks of "
                "equal ones. Where alone is the scale 1?", "scale = step.clamp(min=1.0)",
                "scale = torch.where(spread < 1e-6, 1.0, step)", "scale = torch.where(step < 1e-8, 1.0, step)",
                "scale = torch.where(spread < 1, 1.0, step)", "scale = torch.where(step < 1, 1.0, step)",
                "scale = torch.where(step == 0, 1.0, step.clamp(min=1e-8))",
                "scale = torch.where(spread < 1e-3, 1.0, step)",
                "scale = torch.where(step == 0, 1.0, step.clamp(min=1e-5))"),
        mistake("cut off instead of rounded", "The steps were cut off, as a cast to uint8 does. That is off by up to a "
                "whole step: what is off by at most half a step?", "whole = exact.floor()"),
        mistake("rounded to one side", "All steps were rounded up. The nearest whole number is asked for.",
                "whole = exact.ceil()", "whole = (exact + 1).floor()",
                "whole = (exact + 1).floor()\nkept = whole"),
        mistake("rounded before the division", "The numbers were rounded first and divided by the scale afterwards. "
                "What has to be a whole number?", "above = (parts - low).round()", "above = parts.round() - low",
                "above = (parts - low).round()\nwhole = exact.floor()"),
        mistake("the minimum not subtracted", "The levels do not begin at the block's least number. Which number has "
                "level 0?", "above = parts", "above = parts + low", "above = parts.abs()",
                "above = parts\nkept = whole"),
        mistake("the minimum subtracted after the division", "The least number was subtracted from a number of steps. "
                "Both must be in the same unit: subtract first, or divide it, too.", "exact = parts / scale - low"),
        mistake("counted from the largest", "The levels count down from the largest number. Which number of the block "
                "has level 0?", "above = high - parts", "above = high - parts\nlows = high.squeeze(-1)",
                "above = parts - high", "above = parts - high\nkept = whole",
                "above = parts - high\nkept = whole\nlows = high.squeeze(-1)"),
        mistake("counted from the mean", "The levels are counted from the block's mean. From which number are they "
                "counted?", "above = parts - parts.mean(-1, keepdim=True)",
                "low = parts.mean(-1, keepdim=True)\nspread = high - parts.amin(-1, keepdim=True)\n"
                "kept = whole", "low = parts.mean(-1, keepdim=True)", "low = parts.median(-1, keepdim=True).values"),
        mistake("multiplied by the scale", "The numbers were multiplied by the scale. How many steps above the least "
                "is a number?", "exact = above * scale", "exact = above * scale\nkept = whole",
                "exact = above * scale\nwhole = exact.floor()\nkept = whole"),
        mistake("not divided by the scale", "The numbers were rounded as they are. How many steps above the least is "
                "each of them?", "exact = above"),
        mistake("divided by the whole spread", "The numbers lie between 0 and 1 before they are rounded, so hardly "
                "anything but 0 and 1 is left. How large is one step?",
                "exact = above / (scale * steps)", "step = spread",
                "step = spread\nexact = above / (scale / steps)"),
        mistake("divided by the largest number", "The scale comes from the largest number alone. What lies between the "
                "least and the largest?", "spread = high", "spread = high.abs()", "spread = high + low",
                "spread = low - high", "spread = parts.abs().amax(-1, keepdim=True)"),
        mistake("a typical range", "The range comes from a mean and a deviation, or from quantiles, so that the "
                "largest numbers are cut off. Which two numbers bound it?",
                "low = parts.quantile(0.05, -1, keepdim=True)\nhigh = parts.quantile(0.95, -1, keepdim=True)",
                "spread = 2 * parts.std(-1, keepdim=True)", "spread = parts.std(-1, keepdim=True)",
                "low = parts.mean(-1, keepdim=True) - 2 * parts.std(-1, keepdim=True)\n"
                "high = parts.mean(-1, keepdim=True) + 2 * parts.std(-1, keepdim=True)"),
        mistake("levels beyond the last", "There are levels below 0 or above 2^bits - 1, or they wrapped round. How "
                "many fit into these bits?", "whole = exact.round() + 1\nkept = whole",
                "whole = exact.round() + 1", "whole = exact.round() - 1", "kept = whole - 2 ** (bits - 1)",
                "kept = whole - 2 ** (bits - 1)\nlevels = kept.to(torch.int8)", "kept = whole - 128\n"
                "levels = kept.to(torch.int8)"),
        mistake("fewer levels than there could be", "The last level, or more of them, is never used. Which is the "
                "largest that these bits can hold?",
                "kept = whole.clamp(0, 2**bits - 2)", "kept = whole.clamp(0, 2 ** (bits - 1))",
                "kept = whole.clamp(0, 2 ** (bits - 1) - 1)", "kept = whole.clamp(0, 15)", "kept = whole.clamp(0, 127)",
                "kept = whole.clamp(0, bits)", "kept = whole.clamp(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)",
                "kept = whole.clamp(1, 2**bits - 1)"),
        mistake("steps of another dtype", "The levels have another dtype than uint8. An int8 holds no more than 127, "
                "and the others take more than one byte.",
                *(f"levels = kept.to({dtype})" for dtype in ("torch.int8", "torch.int32", "torch.int64", "torch.int16",
                                                             "x.dtype", "torch.float32", "torch.float64"))),
        mistake("steps of another shape", "The levels have another shape than x. Which axes belong together again?",
                "q = levels", "q = levels.flatten(0, -2)", "q = levels.flatten(0, 1)"),
        mistake("a scale of another shape", "Scale and least number have one entry for each block: (..., d / block). "
                "Which axis is left over, or missing?",
                "scales = scale\nlows = low", "scales = scale", "lows = low",
                "scales = scale.expand(parts.shape).flatten(-2)\nlows = low.expand(parts.shape).flatten(-2)",
                "scales = scale.expand(parts.shape).flatten(-2)", "lows = low.expand(parts.shape).flatten(-2)",
                "scales = scale.squeeze()\nlows = low.squeeze()",
                "scales = scale.flatten()[-1]\nlows = low.flatten()[-1]",
                "scales = scale.expand(parts.shape)\nlows = low.expand(parts.shape)"),
        mistake("the axis of the range lost", "The least and largest numbers have lost their last axis, and meet the "
                "numbers of other blocks. How does the axis stay?",
                "low = parts.amin(-1)\nhigh = parts.amax(-1)\nscales = scale\nlows = low",
                "low = parts.amin(-1)\nhigh = parts.amax(-1)"),
        mistake("the inverse of the scale", "The scale is upside down, or was not divided by the number of steps: x is "
                "about q · scale + low.", "scales = 1 / scale.squeeze(-1)", "scales = spread.squeeze(-1)",
                "scales = (scale * steps).squeeze(-1)", "scales = steps / torch.where(spread == 0, 1.0, spread)"
                ".squeeze(-1)"),
        mistake("the largest instead of the scale", "The block's largest number came back where its scale belongs. "
                "Which three things turn a level back into a number?", "return q, high.squeeze(-1), lows",
                "return q, lows, high.squeeze(-1)", "scales = high.squeeze(-1)"),
        mistake("results in another order", "The three results are in another order: levels, scale, least number.",
                "return q, lows, scales", "return scales, lows, q", "return lows, scales, q", "return scales, q, lows",
                "return lows, q, scales"),
        mistake("another number of results", "Three results are asked for, in a tuple: levels, scale and least number.",
                "return q", "return q, scales", "return (q,)", "return q, lows", "return q, scales, lows, steps",
                "return q, (scales, lows)", "return torch.stack([scales, lows])",
                "return q, torch.stack([scales, lows])"),
        mistake("numbers given back instead of steps", "The levels were turned back into numbers. The levels are what "
                "a file keeps.", "q = (levels * scale + low).flatten(-2)",
                "return (levels * scale + low).flatten(-2)",
                "q = (levels * scale).flatten(-2)", "levels = (kept * scale + low).to(torch.uint8)"),
        mistake("packed into bytes", "Several levels share a byte. Here each has one of its own.",
                "q = (levels[..., 0::2] + levels[..., 1::2] * 2**bits).flatten(-2)",
                "q = levels[..., : block // 2].flatten(-2) + (levels[..., block - block // 2 :] << 4).flatten(-2)",
                "flat = levels.flatten(-2)\nq = flat[..., 0::2] | flat[..., 1::2] << 4"),
        mistake("another dtype", "The numbers are right, but scale and least number must keep the dtype of x.",
                *(f"return q, scales.{kind}(), lows.{kind}()" for kind in ("float", "double", "half")),
                "scales = scale.squeeze(-1).float()", "lows = low.squeeze(-1).float()",
                "scales = scale.squeeze(-1).half()"),
        mistake("not a tensor", "A result came as a list or as an array of numpy. Three tensors are asked for.",
                "return q.tolist(), scales.tolist(), lows.tolist()", "return q.numpy(), scales.numpy(), lows.numpy()",
                "q = levels.flatten(-2).tolist()", "return list(q), list(scales), list(lows)"),
        overwritten(*writing(quantize_blocks, 0), "above = parts.sub_(low)"),
        lower_precision(quantize_blocks, "scales = scale.squeeze(-1).half().to(x.dtype)",
                        "lows = low.squeeze(-1).half().to(x.dtype)",
                        "parts = x.float().to(x.dtype).unflatten(-1, (-1, block))"),
        mistake("another range", "The numbers were rounded to levels, but not to those from the block's least to its "
                "largest number. Print scale and low for one block: what is low + scale · (2^bits - 1)?",
                matches=_another_range),
    ),
    laws=(Law("q · scale + low is x to within half a step", _too_coarse),),
    hints=(
        "Take the block -1, 0.5, -0.45, 0.1 and 2 bits. Which four levels lie between -1 and 0.5, how far apart are "
        "they, and how many steps above -1 is 0.1?",
        "`unflatten(-1, (-1, block))` cuts the last axis into blocks, and `flatten(-2)` joins them again. `amin` and "
        "`amax` with `keepdim=True` can be subtracted from their block.",
        "A block of equal numbers has a spread of 0. `torch.where` can put a 1 there before anything is divided. Then "
        "round, and only then cast to uint8.",
    ),
)
