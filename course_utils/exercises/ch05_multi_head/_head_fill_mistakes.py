"""What goes wrong with what stands in the place of hidden scores, in all heads."""

import torch
from torch import Tensor

from course_utils.checking.exercise import Function, Misconception
from course_utils.exercises.ch05_multi_head._multi_head import inside


def _zeroed(weights: Tensor, mask: Tensor) -> Tensor:
    return weights * mask


def _filled(number: float) -> Function:
    """Fill hidden scores with a number, and set their weights to zero as well."""
    return inside(hide=lambda scores, mask: scores.masked_fill(~mask, number), after=_zeroed)


def _opened(scores: Tensor, mask: Tensor) -> Tensor:
    return scores.masked_fill(~mask & mask.any(-1, keepdim=True), -torch.inf)


FILLS = (
    Misconception(
        "an empty row opened",
        inside(hide=_opened),
        "A query that may see nothing was shown every key, so that its softmax has something to "
        "divide, and what it found stayed in the output. What should it give?",
    ),
    Misconception(
        "hidden keys raised instead of lowered",
        inside(hide=lambda scores, mask: scores.masked_fill(~mask, 1e9)),
        "The hidden keys got the highest scores, so they share all of the weight. Which sign does "
        "the number need?",
        also=(inside(hide=lambda scores, mask: scores + (~mask).to(scores.dtype) * 1e9),),
    ),
    Misconception(
        "hidden keys still in the softmax",
        _filled(0.0),
        "The hidden weights are zero in the end, but their scores were 0 in the softmax, and "
        "exp(0) is 1: what is left sums to less than 1. Which score takes no share?",
        also=(_filled(1e-9), _filled(-1.0)),
    ),
    Misconception(
        "a low number and zeros afterwards",
        _filled(-1e4),
        "The hidden weights are zero in the end, but where the visible scores lie below the number "
        "that was filled in, the hidden keys took all of the weight first: nothing is left. Which "
        "number is lower than every score?",
        also=(_filled(-1e3), _filled(-100.0), _filled(-10.0)),
    ),
)
