"""What goes wrong with the scale of attention.

Both exercises on attention share these. `make` builds a function of the exercise's own signature
with some of its steps exchanged.
"""

import math
from collections.abc import Callable
from typing import Any

from course_utils.checking.exercise import Function, Misconception


def scale_mistakes(
    make: Callable[..., Function], fits: Callable[[tuple[Any, ...], Any], bool]
) -> tuple[Misconception, ...]:
    """Return the mistakes with the scale; `fits` says whether any scale explains a result."""
    return (
        Misconception(
            "no scale",
            make(factor=lambda q, k, v: 1.0),
            "The weights are those of unscaled scores: too sharp, and sharper still with a larger "
            "width. By what does q·k grow with d_k?",
        ),
        Misconception(
            "divided by d_k",
            make(factor=lambda q, k, v: 1 / q.shape[-1]),
            "The weights are too even: the scores are divided by too much. d_k is the variance of "
            "q·k; what is its standard deviation?",
        ),
        Misconception(
            "multiplied by the root of d_k",
            make(factor=lambda q, k, v: math.sqrt(q.shape[-1])),
            "The scale makes the scores larger, not smaller. Which way should it push them?",
            also=(make(factor=lambda q, k, v: float(q.shape[-1])),),
        ),
        Misconception(
            "the root of the wrong size",
            make(factor=lambda q, k, v: 1 / math.sqrt(k.shape[-2])),
            "The scale is a root, but not of the width of query and key. Over how many products "
            "does one score sum?",
            also=(
                make(factor=lambda q, k, v: 1 / math.sqrt(q.shape[-2])),
                make(factor=lambda q, k, v: 1 / math.sqrt(q.shape[0])),
                make(factor=lambda q, k, v: 1 / math.sqrt(q.shape[1])),
                make(factor=lambda q, k, v: 1 / k.shape[-2]),
                make(factor=lambda q, k, v: 1 / math.sqrt(2 * q.shape[-1])),
            ),
        ),
        Misconception(
            "the fourth root of d_k",
            make(factor=lambda q, k, v: q.shape[-1] ** -0.25),
            "The scores are divided by the fourth root of d_k. That factor is right for query and "
            "key each, before they meet; how often does it act on their product?",
        ),
        Misconception(
            "scale rounded",
            make(factor=lambda q, k, v: 1 // math.sqrt(q.shape[-1])),
            "The scale lost its digits on the way: it became a whole number. Which division keeps "
            "fractions?",
            also=(make(pick=lambda given, right: right if given is None else int(given)),),
        ),
        Misconception(
            "another scale than 1/√d_k",
            make(factor=lambda q, k, v: 1 / 8),
            "The weights are those of scores times another number than 1/√d_k. Is the scale "
            "computed from these inputs, or does it come from some other width?",
            fits=fits,
        ),
        Misconception(
            "a given scale changed",
            make(pick=lambda given, right: right if given is None else min(given, 1.0)),
            "Some given scales are not used as they are: larger than 1, negative, or whole "
            "numbers. Any number is a scale; only None asks for the default.",
            also=(
                make(pick=lambda given, right: right if given is None else abs(given)),
                make(pick=lambda given, right: right if given is None else max(given, 0.0)),
                make(pick=lambda given, right: given if isinstance(given, float) else right),
                make(pick=lambda given, right: given if given is not None and given > 0 else right),
                make(pick=lambda given, right: right if given is None else max(given, 1e-6)),
            ),
        ),
        Misconception(
            "root of a negative scale",
            make(pick=lambda given, right: right if given is None else _root_or_nan(given)),
            "A negative scale gives NaN: its root was taken to share it out between query and key. "
            "A scale may be negative; a root of it may not.",
        ),
        Misconception(
            "scale after softmax",
            make(scale_last=True),
            "The weights of a row sum to the scale, not to 1: it was applied to the weights "
            "themselves. Which numbers is it meant to keep small?",
        ),
        Misconception(
            "a scale of 0.0 taken for none",
            make(pick=lambda given, right: given or right),
            "scale=0.0 was replaced by the default. In Python 0.0 is false: what does `scale or "
            "...` do with it, and what asks for None alone?",
        ),
        Misconception(
            "scale divides",
            make(pick=lambda given, right: right if given is None else 1 / (given or 1e-30)),
            "A given scale divides the scores here. It is a factor, as PyTorch's is: what does "
            "scale=0.3 do to a score of 1?",
        ),
        Misconception(
            "scale on top of the default",
            make(pick=lambda given, right: right if given is None else given * right),
            "A given scale and 1/√d_k are both applied. Which one should stand when the caller "
            "gives a scale?",
        ),
        Misconception(
            "scale ignored",
            make(pick=lambda given, right: right),
            "A given scale changes nothing. Where is the argument used?",
        ),
    )


def _root_or_nan(scale: float) -> float:
    return scale if scale >= 0 else math.nan
