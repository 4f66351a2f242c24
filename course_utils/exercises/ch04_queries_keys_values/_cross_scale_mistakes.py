"""What goes wrong in cross-attention with the scale."""

import math
from typing import Any

from torch import Tensor

from course_utils.checking.exercise import Function, Misconception
from course_utils.exercises.ch03_scaled_dot_product._attention import scale_that_explains
from course_utils.exercises.ch04_queries_keys_values._cross_steps import build


def _some_scale(args: tuple[Any, ...], got: Tensor) -> bool:
    if args[1].shape[1] < 2:
        return False
    return scale_that_explains(lambda scale: build(scale=lambda *_: scale)(*args), got.detach())


def _sized(size: Any, power: float = -0.5) -> Function:
    return build(scale=lambda *given: size(*given) ** power)


SCALE = (
    Misconception(
        "no scale",
        build(scale=lambda *given: 1.0),
        "The weights are those of unscaled scores: too sharp. By what does q·k grow with d_k?",
    ),
    Misconception(
        "divided by d_k",
        _sized(lambda x, c, W_q, W_k, W_v: W_q.shape[1], -1.0),
        "The weights are too even: the scores are divided by too much. d_k is the variance of "
        "q·k; what is its standard deviation?",
    ),
    Misconception(
        "multiplied by the root of d_k",
        _sized(lambda x, c, W_q, W_k, W_v: W_q.shape[1], 0.5),
        "The scale makes the scores larger, not smaller. Which way should it push them?",
        also=(_sized(lambda x, c, W_q, W_k, W_v: W_q.shape[1], 1.0),),
    ),
    Misconception(
        "scaled by the width of x",
        _sized(lambda x, c, W_q, W_k, W_v: x.shape[-1]),
        "The scale comes from a width before the projections. Which two vectors make a score, "
        "and how wide are they?",
        also=(
            _sized(lambda x, c, W_q, W_k, W_v: c.shape[-1]),
            _sized(lambda x, c, W_q, W_k, W_v: x.shape[-1], -1.0),
            _sized(lambda x, c, W_q, W_k, W_v: c.shape[-1], -1.0),
        ),
    ),
    Misconception(
        "scaled by the width of the values",
        _sized(lambda x, c, W_q, W_k, W_v: W_v.shape[1]),
        "The scale comes from the width of the values. They take no part in the scores: which "
        "two vectors do?",
        also=(_sized(lambda x, c, W_q, W_k, W_v: W_v.shape[1], -1.0),),
    ),
    Misconception(
        "scaled by a number of positions",
        _sized(lambda x, c, W_q, W_k, W_v: c.shape[1]),
        "The scale comes from the number of positions or of sequences. A score sums over "
        "features: how many of them?",
        also=(
            _sized(lambda x, c, W_q, W_k, W_v: x.shape[1]),
            _sized(lambda x, c, W_q, W_k, W_v: x.shape[0]),
            _sized(lambda x, c, W_q, W_k, W_v: c.shape[1], -1.0),
            _sized(lambda x, c, W_q, W_k, W_v: x.shape[1], -1.0),
        ),
    ),
    Misconception(
        "the root cut to a whole number",
        build(scale=lambda x, c, W_q, W_k, W_v: 1 / math.isqrt(W_q.shape[1])),
        "The root of d_k lost its digits, or the scores did. Which root and which division keep "
        "fractions?",
        also=(
            build(score=lambda q, k, v: q @ k.mT // q.shape[-1] ** 0.5, scale=lambda *_: 1.0),
            build(scale=lambda x, c, W_q, W_k, W_v: 1 / round(W_q.shape[1] ** 0.5)),
        ),
    ),
    Misconception(
        "the fourth root of d_k",
        _sized(lambda x, c, W_q, W_k, W_v: W_q.shape[1], -0.25),
        "The scores are divided by the fourth root of d_k. That factor is right for query and "
        "key each, before they meet; how often does it act on their product?",
    ),
    Misconception(
        "scale after softmax",
        build(scale_last=True),
        "The weights of a row sum to the scale, not to 1: it was applied to the weights "
        "themselves. Which numbers is it meant to keep small?",
    ),
    Misconception(
        "another scale than 1/√d_k",
        build(scale=lambda *given: 1 / 8),
        "The weights are those of scores times another number than 1/√d_k. Is the scale computed "
        "from these inputs, or does it come from some other width?",
        also=(_sized(lambda x, c, W_q, W_k, W_v: W_q.numel()),),
        fits=_some_scale,
    ),
)
