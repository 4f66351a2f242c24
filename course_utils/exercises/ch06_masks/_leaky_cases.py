"""Attentions in which a leak was planted, for a leak test to find."""

import torch
from torch import Tensor

from course_utils.attention import prefix_mask
from course_utils.exercises.ch06_masks._attentions import (
    Attention,
    Layer,
    late_mask,
    later_weights,
    normalised_over_positions,
    pair,
    scrambled,
    step_ahead,
)
from course_utils.exercises.ch06_masks._leak_case import case


def _last_two(layer: Layer) -> Attention:
    mask = layer.causal()
    mask[-2, -1] = True
    return layer.masked(mask)


def _half_masked(layer: Layer) -> Attention:
    masked, open_ = layer.masked(layer.causal()), layer.masked(layer.causal(layer.n))
    return lambda x: torch.cat([masked(x), open_(x)[..., -1:]], -1)


def _opposite(layer: Layer) -> Attention:
    """Add the next position to one column and take it from another: their sum stays."""
    table = step_ahead(layer.n, 1.0)

    def attend(x: Tensor) -> Tensor:
        leak = table @ x[..., :1]
        return layer.mean(x) + torch.cat([leak, -leak], -1)

    return attend


def _detached(layer: Layer) -> Attention:
    table = step_ahead(layer.n, 0.5)
    return lambda x: layer.mean(x) + table @ (x.detach() @ layer.W_v)


LEAKY = (
    case(
        "attention without a mask",
        (5, 4, 3),
        lambda layer: layer.masked(layer.causal(layer.n)),
        "Every output of this attention depends on every position, and the test says False.",
    ),
    case(
        "each query sees one position ahead",
        (7, 3, 4),
        lambda layer: layer.masked(layer.causal(1)),
        "Every query sees the position after its own, and the test says False.",
    ),
    case(
        "statistics over the whole batch",
        (6, 4, 3),
        lambda layer: lambda x: normalised_over_positions(layer.masked(layer.causal())(x)),
        "The attention is causal, but its output is normalised by mean and spread over all "
        "positions of the batch, later ones included. The test says False.",
    ),
    case(
        "only the last two positions leak",
        (8, 5, 4),
        _last_two,
        "The last query but one sees the last position; all others are causal. The test says "
        "False.",
    ),
    case(
        "a prefix of 3 that sees itself",
        (7, 4, 5),
        lambda layer: layer.masked(prefix_mask(layer.n, 3)),
        "The first three queries see each other, the rest is causal. The test says False.",
    ),
    case(
        "the first query sees the last position",
        (7, 4, 3),
        lambda layer: lambda x: layer.mean(x) + pair(layer.n, 0, -1) @ (x @ layer.W_v),
        "The first output depends on the last position, and no other output on its future. The "
        "test says False.",
    ),
    case(
        "a leak that has no gradient",
        (6, 4, 3),
        _detached,
        "Each query reads the next position through a detached copy, and the test says False.",
    ),
    case(
        "the best of all keys alone",
        (12, 4, 3),
        lambda layer: layer.hardest(layer.causal(layer.n)),
        "Each query takes the value of the best key of all, in the future too. The test says "
        "False.",
    ),
    case(
        "mask after the softmax",
        (6, 4, 5),
        lambda layer: lambda x: late_mask(layer, x),
        "The weights of the future were set to 0 after the softmax, so its scores still count in "
        "the denominator. The test says False.",
    ),
    case(
        "the future moves the weights",
        (6, 4, 5),
        lambda layer: lambda x: later_weights(layer, x),
        "Only positions of the past are averaged, but the weights depend on the mean over all "
        "positions. The test says False.",
    ),
    case(
        "heads split by `view` alone",
        (5, 6, 6),
        lambda layer: lambda x: scrambled(layer, x),
        "Two heads were cut out of memory without `transpose`, so rows got mixed up before the "
        "causal mask came. The test says False.",
    ),
    case(
        "one head of several is not masked",
        (6, 4, 3),
        _half_masked,
        "Only the last column of the output depends on the future. The test says False.",
    ),
    case(
        "a leak whose columns cancel",
        (6, 3, 2),
        _opposite,
        "What one column of the output gains by the next position, another loses, so their sum "
        "stays. The test says False.",
    ),
    case(
        "two positions, the first sees the second",
        (2, 3, 4),
        lambda layer: layer.masked(layer.causal(1)),
        "There are two positions, and the first output depends on the second. The test says False.",
    ),
)
