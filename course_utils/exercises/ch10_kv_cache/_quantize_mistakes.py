"""What goes wrong when keys and values are rounded to one byte a number."""

from typing import Any

import torch
from torch import Tensor

from course_utils.attention import quantize_kv
from course_utils.checking.exercise import Misconception
from course_utils.exercises.ch10_kv_cache._quantize_wrong import build, largest, over


def _spread(x: Tensor) -> Tensor:
    return x.amax(-1, keepdim=True) - x.amin(-1, keepdim=True)


def _with_zero_point(x: Tensor) -> tuple[Tensor, Tensor]:
    """Map the smallest number to -128 and the largest to 127."""
    low, scale = x.amin(-1, keepdim=True), _spread(x) / 255
    scale = torch.where(scale == 0, 1.0, scale)
    return ((x - low) / scale - 128).detach().round().to(torch.int8), scale


def _rounded_scale(x: Tensor) -> tuple[Tensor, Tensor]:
    scale = largest(x) / 127
    scale = torch.where(scale == 0, 1.0, scale)
    power = torch.exp2(scale.log2().ceil())
    return (x / power).detach().round().to(torch.int8), power


def _all_larger(args: tuple[Any, ...], value: Any) -> bool:
    """Say whether every scale is too large by the same small number."""
    extra = (value[1] - quantize_kv(*args)[1]).detach()
    small = bool((extra > 0).all()) and float(extra.max()) < 0.1
    return small and float(extra.max() - extra.min()) < 1e-3 * float(extra.max())


SCALES = (
    Misconception(
        "one scale for the whole tensor",
        build(over(0, 1, 2, 3)),
        "All tokens share one scale, and a single large number makes the steps of all others "
        "coarse. The scale has the shape (B, H, S, 1): what does it belong to?",
        also=(
            build(lambda x: x.abs().max()),
            build(lambda x: x.abs().amax((0, 1, 2, 3), keepdim=True)),
            build(over(0, 1, 2, 3), finish=lambda q, scale, x: (q, float(scale.max()))),
            build(over(1, 2, 3)),
            build(over(0, 2, 3)),
        ),
    ),
    Misconception(
        "one scale for a whole head",
        build(over(2, 3)),
        "All tokens of a head share one scale. A token is quantised when it comes, and must not "
        "change when the next one does.",
        also=(build(over(0, 2)), build(over(0, 3)), build(over(0, 1, 3))),
    ),
    Misconception(
        "one scale for all heads of a token",
        build(over(1, 3)),
        "All heads of a token share one scale. The scale has an axis for heads.",
    ),
    Misconception(
        "a scale for each channel",
        build(lambda x: x.abs().amax(2, keepdim=True)),
        "The largest number was sought over the tokens: that gives a scale to each channel. A "
        "token and a head have one scale: over which axis is the largest to be found?",
        also=(
            build(lambda x: x.abs().amax(1, keepdim=True)),
            build(lambda x: x.abs().amax(0, keepdim=True)),
        ),
    ),
    Misconception(
        "the largest number without its sign",
        build(lambda x: x.amax(-1, keepdim=True), fill=lambda s: torch.where(s <= 0, 1.0, s)),
        "The scale comes from the largest number, and a large negative one was not seen. Which "
        "number needs the most steps?",
        also=(
            build(lambda x: x.amax(-1, keepdim=True)),
            build(lambda x: x.amax(-1, keepdim=True).abs()),
            build(lambda x: x.amin(-1, keepdim=True).abs()),
        ),
    ),
    Misconception(
        "another number of steps",
        build(steps=128),
        "The scale is not that of 127 steps to each side. What is the largest number that an int8 "
        "holds, and is its opposite one too?",
        also=(
            build(steps=128, low=-128),
            build(steps=255),
            build(steps=256),
            build(steps=127.5),
            build(steps=126),
            build(steps=7),
            build(steps=63),
            build(steps=100),
            build(steps=64),
        ),
    ),
    Misconception(
        "the spread instead of the size",
        build(_spread, 255),
        "The scale comes from the distance between the smallest and the largest number. That needs "
        "a zero point; here 0 stays 0 and the size decides.",
        also=(_with_zero_point, build(_spread), build(_spread, 254)),
    ),
    Misconception(
        "a typical size instead of the largest",
        build(lambda x: x.abs().mean(-1, keepdim=True)),
        "The scale comes from a mean, so the largest numbers do not fit into 127 steps and are cut "
        "off. Which number must still fit?",
        also=(
            build(lambda x: x.std(-1, keepdim=True)),
            build(lambda x: x.square().mean(-1, keepdim=True).sqrt()),
            build(lambda x: x.norm(dim=-1, keepdim=True)),
            build(lambda x: x.abs().sum(-1, keepdim=True)),
            build(lambda x: x.abs().median(-1, keepdim=True).values),
        ),
    ),
    Misconception(
        "the inverse of the scale",
        build(finish=lambda q, scale, x: (q, 1 / scale)),
        "The scale is upside down: x is about q times scale.",
        also=(build(finish=lambda q, scale, x: (q, scale * 127)),),
    ),
    Misconception(
        "a step of zero",
        build(fill=lambda scale: scale),
        "Where all numbers are zero, the scale is 0 or almost, and 0 / 0 is NaN. Which scale is "
        "asked for there?",
        also=(
            build(fill=lambda scale: scale, whole=lambda q: q.nan_to_num().round()),
            build(fill=lambda scale: scale.clamp(min=1e-8)),
            build(fill=lambda scale: scale.clamp(min=1e-5)),
            build(fill=lambda scale: scale.clamp(min=1e-12)),
            build(fill=lambda scale: scale.clamp(min=1e-6)),
            build(fill=lambda scale: scale + 1e-8 * (scale == 0)),
            build(fill=lambda scale: torch.where(scale == 0, 1 / 127, scale)),
            build(size=lambda x: x.abs().amax(-1, keepdim=True).clamp(min=1e-8)),
        ),
    ),
    Misconception(
        "an epsilon in every scale",
        build(fill=lambda scale: scale + 1e-5),
        "Every scale is too large by the same small number. Only where all is zero is there "
        "something to avoid.",
        also=(
            build(fill=lambda scale: scale + 1e-3),
            build(fill=lambda scale: scale + 1e-6),
            build(fill=lambda scale: scale + 1e-8),
            build(size=lambda x: largest(x) + 1e-5),
            build(size=lambda x: largest(x) + 1e-6),
            build(size=lambda x: largest(x) + 1e-8),
        ),
        fits=_all_larger,
    ),
    Misconception(
        "small scales raised to one",
        build(fill=lambda scale: scale.clamp(min=1.0)),
        "Scales below 1 became 1, and small numbers all became 0. Where alone is the scale 1?",
        also=(build(fill=torch.ones_like),),
    ),
    Misconception(
        "a scale that is a power of two",
        _rounded_scale,
        "The scale was rounded to a power of two. Asked for is the largest size divided by 127.",
    ),
)
