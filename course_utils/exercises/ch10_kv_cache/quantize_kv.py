"""Exercise: round keys and values to one byte a number."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from course_utils.attention import quantize_kv
from course_utils.checking.exercise import Case, Exercise, Property
from course_utils.checking.inputs import normal, strided
from course_utils.exercises.ch10_kv_cache._quantize_mistakes import SCALES
from course_utils.exercises.ch10_kv_cache._quantize_step_mistakes import RESULTS, STEPS

Make = Callable[[torch.Generator], tuple[Any, ...]]


def _made(
    *shape: int,
    dtype: torch.dtype = torch.float64,
    change: Callable[[Tensor], Tensor] | None = None,
) -> Make:
    def make(g: torch.Generator) -> tuple[Any, ...]:
        x = normal(g, *shape, dtype=dtype)
        return (x if change is None else change(x),)

    return make


def _outlier(x: Tensor) -> Tensor:
    x[1, 0, 2, 3] = 900.0
    return x


def _zero_rows(x: Tensor) -> Tensor:
    x[0, 1, 2] = 0.0
    x[1, :, 0] = 0.0
    return x


def _most_negative(x: Tensor) -> Tensor:
    x[..., 1] = -4.0
    return x


def _exact(dtype: torch.dtype) -> Make:
    """Make rows of whole steps whose size is a power of two, which rounding cannot blur."""

    def make(g: torch.Generator) -> tuple[Any, ...]:
        q = torch.randint(-60, 61, (2, 3, 4, 5), generator=g)
        q[..., 2] = torch.where(q[..., 3] % 2 == 0, 127, -127)
        step = torch.exp2(torch.randint(-6, 3, (2, 3, 4, 1), generator=g).double())
        return ((q * step).to(dtype),)

    return make


def _too_coarse(args: tuple[Any, ...], out: Any) -> str | None:
    x, (q, scale) = args[0].detach().double(), (part.detach().double() for part in out)
    wrong = ~((q * scale - x).abs() <= 0.51 * scale.abs() + 1e-12)
    if not bool(wrong.any()):
        return None
    where = tuple(int(i) for i in wrong.nonzero()[0])
    row = (*where[:-1], 0)
    return (
        f"At index {list(where)}, q · scale is {(q * scale)[where].item():.4g} for x = "
        f"{x[where].item():.4g}, further away than half a step of {scale[row].item():.4g}."
    )


EXERCISE = Exercise(
    name="quantize_kv",
    chapter=10,
    signature="quantize_kv(x)",
    asks="Round keys or values to int8, with one scale for each token in each head.",
    reference=quantize_kv,
    minutes=15,
    difficulty=3,
    importance=3,
    parts=("q", "scale"),
    cases=(
        Case("2 sequences, 3 heads, 5 tokens of width 4", _made(2, 3, 5, 4), gradient="finite"),
        Case("3 sequences, 2 heads, 4 tokens of width 7", _made(3, 2, 4, 7), tolerance=1e-12),
        Case("all sizes 4", _made(4, 4, 4, 4)),
        Case("one large number", _made(2, 3, 4, 6, change=_outlier)),
        Case("rows of zeros", _made(2, 3, 4, 5, change=_zero_rows), gradient="finite"),
        Case("all zeros", _made(1, 2, 3, 4, change=torch.zeros_like)),
        Case("rows whose largest number is negative", _made(2, 3, 4, 5, change=_most_negative)),
        Case("only negative numbers", _made(2, 2, 3, 5, change=lambda x: -x.abs() - 0.1)),
        Case("only positive numbers", _made(2, 2, 3, 5, change=lambda x: x.abs() + 0.1)),
        Case("very small numbers", _made(2, 3, 2, 5, change=lambda x: x * 1e-9)),
        Case("numbers of thousands", _made(2, 1, 3, 5, change=lambda x: x * 4e3)),
        Case("width 1", _made(2, 3, 4, 1)),
        Case("one of everything", _made(1, 1, 1, 1)),
        Case("one token, as in decoding", _made(2, 3, 1, 6)),
        Case("a tensor that does not lie in memory row by row", _made(2, 3, 5, 4, change=strided)),
        Case("float32", _made(2, 3, 4, 6, dtype=torch.float32)),
        Case("float16", _exact(torch.float16)),
        Case("bfloat16", _exact(torch.bfloat16)),
    ),
    misconceptions=(*SCALES, *STEPS, *RESULTS),
    properties=(Property("q · scale is x to within half a step", _too_coarse),),
    hints=(
        "Take the row 0.5, -2, 1. Which size must become 127 steps, and how large is one step? How "
        "many steps are 0.5 then?",
        "Each token in each head has a row of d numbers and one scale. "
        "`amax(dim=-1, keepdim=True)` keeps the axis of size 1; what must be taken before it, for "
        "negative numbers?",
        "A row of zeros has a step of 0. `torch.where` can put a 1 there before anything is "
        "divided.",
        "A cast to int8 cuts off what is behind the point: round first.",
    ),
)
