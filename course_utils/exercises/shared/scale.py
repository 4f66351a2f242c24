"""Mistakes with the scale of attention.

The lines speak of `query`, `key` and `scale`, the arguments, and of the steps

    default = 1 / math.sqrt(query.shape[-1])
    factor = default if scale is None else scale
    products = query @ key.mT
    scaled = products * factor
    weights = stable_softmax(scores)

`DEFAULT` needs no argument `scale`: it is for exercises whose scale is always 1/√d_k.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from course_utils.checking.mistakes import Mistake, mistake

DEFAULT = (
    mistake("no scale", "The weights are those of unscaled scores: too sharp, and sharper still with a larger width. "
            "By what does q·k grow with d_k?", "default = 1.0"),
    mistake("divided by d_k", "The weights are too even: the scores are divided by too much. d_k is the variance of "
            "q·k; what is its standard deviation?", "default = 1 / query.shape[-1]"),
    mistake("multiplied by the root of d_k", "The scale makes the scores larger, not smaller. Which way should it push "
            "them?", "default = math.sqrt(query.shape[-1])", "default = float(query.shape[-1])"),
    mistake("the root of the wrong size", "The scale is a root, but not of the width of query and key. Over how many "
            "products does one score sum?",
            "default = 1 / math.sqrt(key.shape[-2])", "default = 1 / math.sqrt(query.shape[-2])",
            "default = 1 / math.sqrt(query.shape[0])", "default = 1 / math.sqrt(query.shape[1])",
            "default = 1 / key.shape[-2]", "default = 1 / math.sqrt(2 * query.shape[-1])"),
    mistake("the fourth root of d_k", "The scores are divided by the fourth root of d_k. That factor is right for "
            "query and key each, before they meet; how often does it act on their product?",
            "default = query.shape[-1] ** -0.25"),
    mistake("scale after softmax", "The weights of a row sum to the scale, not to 1: it was applied to the weights "
            "themselves. Which numbers is it meant to keep small?",
            "scaled = products\nweights = stable_softmax(scores) * factor"),
)

GIVEN = (
    mistake("scale rounded", "The scale lost its digits on the way: it became a whole number. Which division keeps "
            "fractions?",
            "default = 1 // math.sqrt(query.shape[-1])", "factor = default if scale is None else int(scale)"),
    mistake("a given scale changed", "Some given scales are not used as they are: larger than 1, negative, or whole "
            "numbers. Any number is a scale; only None asks for the default.",
            "factor = default if scale is None else min(scale, 1.0)",
            "factor = default if scale is None else abs(scale)",
            "factor = default if scale is None else max(scale, 0.0)",
            "factor = scale if isinstance(scale, float) else default",
            "factor = scale if scale is not None and scale > 0 else default",
            "factor = default if scale is None else max(scale, 1e-6)"),
    mistake("root of a negative scale", "A negative scale gives NaN: its root was taken to share it between query and "
            "key. A scale may be negative; a root of it may not.",
            "factor = default if scale is None else scale if scale >= 0 else math.nan"),
    mistake("a scale of 0.0 taken for none", "scale=0.0 was replaced by the default. In Python 0.0 is false: what does "
            "`scale or ...` do with it, and what asks for None alone?", "factor = scale or default"),
    mistake("scale divides", "A given scale divides the scores here. It is a factor, as PyTorch's is: what does "
            "scale=0.3 do to a score of 1?", "factor = default if scale is None else 1 / (scale or 1e-30)"),
    mistake("scale on top of the default", "A given scale and 1/√d_k are both applied. Which one should stand when the "
            "caller gives a scale?", "factor = default if scale is None else scale * default"),
    mistake("scale ignored", "A given scale changes nothing. Where is the argument used?", "factor = default"),
)


def another_scale(explains: Callable[[tuple[Any, ...], Any], bool]) -> tuple[Mistake, ...]:
    """Return the mistake of any other scale; `explains` says whether one turns inputs into it."""
    return (
        mistake("another scale than 1/√d_k", "The weights are those of scores times another number than 1/√d_k. Is the "
                "scale computed from these inputs, or does it come from some other width?",
                "default = 1 / 8", matches=explains),
    )


def some_scale(result: Callable[[float], Tensor], got: Tensor, right: float | None = None) -> bool:
    """Return whether some scale turns `result(scale)` into what was got: searched, then refined.

    What the `right` scale gives but for float32's rounding has the right scale.
    """
    if right is not None and float((result(right) - got).abs().max()) < 1e-5 * float(got.abs().max() + 1):
        return False
    grid = torch.cat([-torch.logspace(-3, 1, 60), torch.zeros(1), torch.logspace(-3, 1, 60)])
    for _ in range(6):
        errors = [float((result(float(scale)) - got).abs().max()) for scale in grid]
        if not errors or min(errors) != min(errors):
            return False
        best = min(range(len(errors)), key=errors.__getitem__)
        low, high = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
        grid = torch.linspace(float(low), float(high), 41, dtype=torch.float64)
    return min(errors) < 1e-6 * float(got.abs().max() + 1)


def multiple(right: Tensor, got: Tensor) -> bool:
    """Return whether `got` is what is right, times another number than 1."""
    if got.shape != right.shape or got.dtype != right.dtype:
        return False
    right, got = right.detach().double(), got.detach().double()
    factor = (right * got).sum() / right.square().sum()
    room = 1e-6 * (factor.abs() + 1) * right.abs().max()
    return bool(((got - factor * right).abs() <= room).all() & ((factor - 1).abs() > 1e-5))
