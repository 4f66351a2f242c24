"""Exercise: round keys and values to one byte a number."""

from collections.abc import Callable
from typing import Any

import torch
from course_utils.attention import quantize_kv
from course_utils.checking.exercise import Law, case, exercise
from course_utils.checking.inputs import Make, normal, strided
from course_utils.checking.mistakes import mistake
from course_utils.exercises.shared.kinds import NOTHING, overwritten
from torch import Tensor

# `wide` is the scale in the dtype of the division: in 16 bits the quotient would be rounded, too.
RIGHT = """
def quantize_kv(x):
    steps = 127
    sizes = x.abs()
    largest = sizes.amax(-1, keepdim=True)
    step = largest / steps
    scale = torch.where(step == 0, 1.0, step)
    wide = scale.double()
    exact = x / wide
    whole = exact.round()
    kept = whole.clamp(-127, 127)
    q = kept.to(torch.int8)
    return q, scale
"""


def wrapped(whole: Tensor) -> Tensor:
    """Return the low 8 bits of whole numbers, as a cast to int8 keeps them."""
    return (whole + 128) % 256 - 128


def _over(*axes: str) -> tuple[str, ...]:
    """Return lines that seek the largest number over more axes than the last."""
    return tuple(f"largest = sizes.amax(({a}), keepdim=True).expand(*x.shape[:-1], 1)" for a in axes)


def _made(
    *shape: int,
    dtype: torch.dtype = torch.float64,
    change: Callable[[Tensor], Tensor] = lambda x: x,
) -> Make:
    return lambda g: (change(normal(g, *shape, dtype=dtype)),)


def _outlier(x: Tensor) -> Tensor:
    x[1, 0, 2, 3] = 900.0
    return x


def _one_zero(x: Tensor) -> Tensor:
    x[0, :, 1, 2] = 0.0
    x[1, 0, 0, 0] = 0.0
    return x


def _zero_rows(x: Tensor) -> Tensor:
    x[0, 1, 2] = 0.0
    x[1, :, 0] = 0.0
    return x


def _most_negative(x: Tensor) -> Tensor:
    x[..., 1] = -4.0
    return x


def _rough(dtype: torch.dtype) -> Make:
    """Make rows of 16 bits whose quotients are the same however the scale is rounded, if only they are not, too."""

    def row(g: torch.Generator) -> Tensor:
        while True:
            largest, many = ((1 + torch.rand(1, generator=g)).to(dtype), (2 * torch.rand(4000, generator=g) - 1))
            numbers = (many * largest).to(dtype)
            given = largest / 127
            quotients = [numbers.double() / scale for scale in (largest.double() / 127, given.double())]
            clear = torch.stack([(one - one.floor() - 0.5).abs() > 3e-3 for one in quotients]).all(0)
            alike = clear & (quotients[0].round() == quotients[1].round())
            wrong = numbers[alike & ((numbers / given).round() != quotients[0].round())]
            if len(wrong) > 3:
                return torch.cat([wrong[:2], -largest, wrong[2:4]])

    return lambda g: (torch.stack([row(g) for _ in range(12)]).view(2, 3, 2, 5),)


def _too_coarse(args: tuple[Any, ...], out: Any) -> str | None:
    x, (q, scale) = args[0].detach().double(), (part.detach().double() for part in out)
    wrong = ~((q * scale - x).abs() <= 0.51 * scale.abs() + 1e-12)
    if not bool(wrong.any()):
        return None
    where = tuple(int(i) for i in wrong.nonzero()[0])
    row = (*where[:-1], 0)
    return (
        f"At index {list(where)}, q · scale is {(q * scale)[where].item():.4g} for x = {x[where].item():.4g}, further "
        f"away than half a step of {scale[row].item():.4g}."
    )


def _another_number(args: tuple[Any, ...], got: Any) -> bool:
    """Return whether all steps are too large or too small by one factor, and the numbers rounded to them."""
    x, (q, scale), right = args[0].detach(), (part.detach() for part in got), quantize_kv(*args)[1].detach()
    share = scale / right
    cut = (x / scale).round()
    alike = bool((share - share.mean()).abs().max() < 1e-9 * share.mean().abs())
    return alike and any(torch.equal(q, cut.clamp(low, 127).char()) for low in (-127, -128))


def _another_scale_for_zeros(args: tuple[Any, ...], got: Any) -> bool:
    (q, scale), (right, steps) = got, quantize_kv(*args)
    empty = (args[0] == 0).all(-1, keepdim=True)
    return torch.equal(q, right) and torch.equal(scale[~empty], steps[~empty]) and bool(empty.any())


def _no_scale_for_zeros(args: tuple[Any, ...], got: Any) -> bool:
    empty = (args[0] == 0).all(-1, keepdim=True)
    return _another_scale_for_zeros(args, got) and bool((got[1][empty].abs() < 1e-3).all())


def _rounded_twice(args: tuple[Any, ...], got: Any) -> bool:
    """Return whether whole numbers of 16 bits are off by one at most, and all else is right."""
    x, (q, scale), (right, steps) = args[0], got, quantize_kv(*args)
    off = (q.int() - right.int()).abs().max()
    return x.dtype in (torch.float16, torch.bfloat16) and int(off) == 1 and torch.allclose(scale, steps, 0.01)


def _all_larger(args: tuple[Any, ...], got: Any) -> bool:
    """Return whether every scale is too large by the same small number."""
    extra = (got[1] - quantize_kv(*args)[1]).detach()
    small = bool((extra > 0).all()) and float(extra.max()) < 0.1
    return small and float(extra.max() - extra.min()) < 1e-3 * float(extra.max())


EXERCISE = exercise(
    quantize_kv,
    right=RIGHT,
    asks="Round keys or values to int8, with one scale for each token in each head.",
    minutes=15,
    difficulty=3,
    importance=3,
    parts=("q", "scale"),
    cases=(
        case("2 sequences, 3 heads, 5 tokens of width 4", _made(2, 3, 5, 4)),
        case("3 sequences, 2 heads, 4 tokens of width 7", _made(3, 2, 4, 7), tolerance=1e-12),
        case("every size is 4", _made(4, 4, 4, 4)),
        case("one large number", _made(2, 3, 4, 6, change=_outlier)),
        case("rows in which one number is 0", _made(2, 3, 2, 4, change=_one_zero)),
        case("rows of zeros", _made(2, 3, 4, 5, change=_zero_rows)),
        case("all zeros", _made(1, 2, 3, 4, change=torch.zeros_like)),
        case("rows whose largest number is negative", _made(2, 3, 4, 5, change=_most_negative)),
        case("only negative numbers", _made(2, 2, 3, 5, change=lambda x: -x.abs() - 0.1)),
        case("only positive numbers", _made(2, 2, 3, 5, change=lambda x: x.abs() + 0.1)),
        case("very small numbers", _made(2, 3, 2, 5, change=lambda x: x * 1e-9)),
        case("numbers of thousands", _made(2, 1, 3, 5, change=lambda x: x * 4e3)),
        case("width 1", _made(2, 3, 4, 1)),
        case("one of everything", _made(1, 1, 1, 1)),
        case("one token, as in decoding", _made(2, 3, 1, 6)),
        case("a non-contiguous tensor", _made(2, 3, 5, 4, change=strided)),
        case("float32", _made(2, 3, 4, 6, dtype=torch.float32)),
        case("float16", _rough(torch.float16)),
        case("bfloat16", _rough(torch.bfloat16)),
    ),
    mistakes=(
        mistake("one scale for the whole tensor", "All tokens share one scale, and a single large number makes the "
                "steps of all others coarse. The scale has the shape (B, H, S, 1): what does it belong to?",
                *_over("0, 1, 2, 3", "1, 2, 3", "0, 2, 3"), "largest = sizes.max()",
                "largest = sizes.amax((0, 1, 2, 3), keepdim=True)",
                "largest = sizes.amax((0, 1, 2, 3), keepdim=True)\nreturn q, float(scale.max())"),
        mistake("one scale for a whole head", "All tokens of a head share one scale. A token is quantised when it "
                "comes, and must not change when the next one does.", *_over("2, 3")),
        mistake("one scale for all sequences", "A token has the same scale in every sequence of the batch. Whose are "
                "the numbers that it has to fit?", *_over("0, 3", "0, 1, 3"),
                "largest = sizes[:1].amax(-1, keepdim=True).expand(*x.shape[:-1], 1)",
                "return q, scale[:1].expand_as(scale)"),
        mistake("a scale for each number", "Every number has a scale of its own, and is 127 steps of it or none. What "
                "do the numbers of a row share?", "largest = sizes"),
        mistake("one scale for all heads of a token", "All heads of a token share one scale. The scale has an axis for "
                "heads.", *_over("1, 3")),
        mistake("a scale for each channel", "The largest number was taken over the tokens: that gives each channel a "
                "scale. Each token has one scale per head: over which axis must the largest be taken?",
                "largest = sizes.amax(2, keepdim=True)", "largest = sizes.amax(1, keepdim=True)",
                "largest = sizes.amax(0, keepdim=True)"),
        mistake("the largest number without its sign", "The scale comes from the largest number, and a large negative "
                "one was not seen. Which number needs the most steps?",
                "sizes = x\nscale = torch.where(step <= 0, 1.0, step)", "sizes = x",
                "largest = x.amax(-1, keepdim=True).abs()", "largest = x.amin(-1, keepdim=True).abs()"),
        mistake("another number of steps", "The scale does not give 127 steps on each side. What is the largest number "
                "that an int8 holds, and does it hold its negative too?",
                "steps = 128", "steps = 128\nkept = whole.clamp(-128, 127)", matches=_another_number),
        mistake("the spread instead of the size", "The scale comes from the distance between the smallest and the "
                "largest number. That needs a zero point; here 0 stays 0 and the size decides.",
                "steps = 255\nlargest = x.amax(-1, keepdim=True) - x.amin(-1, keepdim=True)",
                "largest = x.amax(-1, keepdim=True) - x.amin(-1, keepdim=True)",
                "steps = 254\nlargest = x.amax(-1, keepdim=True) - x.amin(-1, keepdim=True)",
                "steps = 255\nlow = x.amin(-1, keepdim=True)\nlargest = x.amax(-1, keepdim=True) - low\n"
                "exact = ((x - low) / scale - 128).detach()\nkept = whole"),
        mistake("a typical size instead of the largest", "The scale comes from a mean, a sum or a norm of the row, so "
                "that the largest number does not fit into 127 steps, or does not need them. Which number decides?",
                "largest = sizes.mean(-1, keepdim=True)", "largest = x.std(-1, keepdim=True)",
                "largest = x.square().mean(-1, keepdim=True).sqrt()", "largest = x.norm(dim=-1, keepdim=True)",
                "largest = sizes.sum(-1, keepdim=True)", "largest = sizes.median(-1, keepdim=True).values"),
        mistake("the inverse of the scale", "The scale is upside down, or not divided by the number of steps: x is "
                "about q times scale.", "return q, 1 / scale", "return q, scale * 127"),
        mistake("a step of zero", "Where all numbers are zero, the scale is 0 or almost, and 0 / 0 is NaN. Which scale "
                "is asked for there?", "scale = step", "scale = step.clamp(min=1e-8)",
                "scale = step\nwhole = exact.nan_to_num().round()", matches=_no_scale_for_zeros),
        mistake("another scale for rows of zeros", "Where all numbers are zero, the scale is another number than the "
                "one that is asked for. Was it set before or after a division?",
                "step = torch.where(largest == 0, 1.0, largest) / steps", matches=_another_scale_for_zeros),
        mistake("the scale 1 for a row with a zero", "A row with a single 0 in it got the scale 1. Which rows are "
                "meant?", "scale = torch.where((x == 0).any(-1, keepdim=True), 1.0, step)"),
        mistake("an epsilon in every scale", "Every scale is too large by the same small number. Only where all is "
                "zero is there something to avoid.", "scale = step + 1e-5", matches=_all_larger),
        mistake("small scales raised to one", "Scales below 1 became 1, and small numbers all became 0. Where alone is "
                "the scale 1?", "scale = step.clamp(min=1.0)"),
        mistake("no scale at all", "Every scale is 1, so that the numbers were rounded as they are. Into how many "
                "steps is the largest of a row to be cut?", "scale = torch.ones_like(step)"),
        mistake("a scale that is a power of two", "The scale was rounded to a power of two. The scale is the largest "
                "size divided by 127.", "scale = torch.exp2(torch.where(step == 0, 1.0, step).log2().ceil())"),
        mistake("cut off instead of rounded", "The steps were cut off towards zero, as a cast to int8 does. That is "
                "off by up to a whole step: what is off by at most half a step?", "whole = exact.trunc()"),
        mistake("rounded to one side", "All steps were rounded in one direction: down, up or away from zero. The "
                "nearest whole number is asked for.", "whole = exact.floor()", "whole = exact.ceil()",
                "whole = exact.floor()\nkept = whole", "whole = exact.ceil()\nkept = wrapped(whole)",
                "whole = exact.sign() * exact.abs().ceil()"),
        mistake("half added and cut off", "A half was added, and then the decimals were cut off. That is the nearest "
                "whole number for positive numbers. What does it do to -1.7?", "whole = (exact + 0.5).trunc()",
                "whole = (exact + 0.5).trunc()\nkept = whole"),
        mistake("rounded before the division", "The numbers were rounded first and divided by the scale afterwards. "
                "What has to be a whole number?", "exact = x.round() / wide",
                "exact = x.round() / wide\nkept = wrapped(whole)",
                "exact = x.round() / wide\nwhole = exact.trunc()",
                "exact = x.round() / wide\nwhole = exact.trunc()\nkept = wrapped(whole)"),
        mistake("an overflow that wraps round", "The largest numbers changed their sign: 128 does not fit into an int8 "
                "and became -128. How many steps are there to each side?",
                "whole = (exact * 128 / 127).round()\nkept = wrapped(whole)", "steps = 128\nkept = wrapped(whole)",
                f"{_over('0, 1, 2, 3')[0]}\nwhole = (exact * 2).round()\nkept = wrapped(whole)",
                "largest = sizes.mean(-1, keepdim=True)\nkept = wrapped(whole)"),
        mistake("steps without a sign", "The steps have no sign. An int8 holds -127 to 127, and 0 stays 0.",
                "q = kept.to(torch.int16).to(torch.uint8)", "kept = whole.clamp(0, 127)", "kept = whole.clamp(min=0)",
                "q = (whole + 128).clamp(0, 255).to(torch.uint8)", "whole = exact.abs().round()",
                "q = whole.clamp(0, 255).to(torch.uint8)"),
        mistake("steps of another dtype", "The steps have another dtype than int8. The numbers are right, but each "
                "takes more than the one byte that it needs.",
                *(f"q = kept.to({dtype})" for dtype in ("torch.int32", "torch.int64", "torch.int16", "torch.float64",
                                                        "torch.float32", "x.dtype"))),
        mistake("not divided by the scale", "The numbers were rounded as they are. How many steps is each of them?",
                "exact = x"),
        mistake("multiplied by the scale", "The numbers were multiplied by the scale, and small ones all became 0. How "
                "many steps are there in a number?", "exact = x * scale"),
        mistake("divided by the largest number", "The numbers were divided by the largest of their row, so that hardly "
                "anything but 0 and 1 is left. What is the size of one step?", "exact = x / (wide * steps)"),
        mistake("divided in 16 bits", "In 16 bits some of the steps are not the nearest ones: the quotient was rounded "
                "to 16 bits, and then once more. How many digits does a number near 100 keep there?",
                "exact = x / scale", "exact = x * (1 / scale)", "exact = x * (steps / largest.clamp(min=1e-30))",
                matches=_rounded_twice),
        mistake("numbers given back instead of steps", "The steps were multiplied by the scale again. What is kept in "
                "the cache are the steps.", "return q * scale, scale", "return q * scale"),
        mistake("scale and steps exchanged", "The two results are in the wrong order: the steps come first.",
                "return scale, q"),
        mistake("only one of the two", "One result came back. Without its scale, a step means nothing.",
                "return q", "return (q,)", "return scale"),
        mistake("a scale of another shape", "The scale must have the shape (B, H, S, 1), so that it can be multiplied "
                "by the steps.", "return q, scale.squeeze(-1)", "return q, scale.expand(x.shape)",
                "return q, scale.squeeze()", "return q, scale.flatten()", "return q, scale[-1, -1, -1, 0]",
                "return q, scale.flatten()[-1:]",
                *(f"largest = sizes.amax(({a}), keepdim=True)" for a in ("2, 3", "1, 2, 3", "1, 3"))),
        mistake("the axis of the scale lost", "The largest numbers have lost their last axis, and (B, H, S, d) cannot "
                "be divided by (B, H, S), or only by chance. How does the axis stay?", "largest = sizes.amax(-1)"),
        mistake("a scale of another dtype", "The scale must keep the dtype of x: the steps alone become bytes.",
                "return q, scale.float()", "return q, scale.half()", "return q, scale.double()"),
        overwritten("exact = x.div_(scale)"),
        NOTHING,
    ),
    laws=(Law("q · scale is x to within half a step", _too_coarse),),
    hints=(
        "Take the row 0.5, -2, 1. Which size must become 127 steps, and how large is one step? How many steps are 0.5 "
        "then?",
        "Each token in each head has a row of d numbers and one scale. `amax(dim=-1, keepdim=True)` keeps the axis of "
        "size 1; what must be taken before it, for negative numbers?",
        "A row of zeros has a step of 0. `torch.where` can put a 1 there before anything is divided.",
        "A cast to int8 cuts off the decimals: round first.",
    ),
)
