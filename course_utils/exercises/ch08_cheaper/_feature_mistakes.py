"""What goes wrong in positive random features."""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from course_utils.checking.exercise import Misconception
from course_utils.exercises.ch08_cheaper._feature_length_mistakes import LENGTHS
from course_utils.exercises.ch08_cheaper._features import build


def _waves(x: Tensor, projection: Tensor) -> Any:
    scaled = x / x.shape[-1] ** 0.25
    along, lifted = scaled @ projection.mT, (0.5 * scaled.square().sum(-1, keepdim=True)).exp()
    return lifted * torch.cat((along.sin(), along.cos()), -1) / math.sqrt(projection.shape[0])


def _both_signs(x: Tensor, projection: Tensor) -> Any:
    scaled = x / x.shape[-1] ** 0.25
    along, half = scaled @ projection.mT, 0.5 * scaled.square().sum(-1, keepdim=True)
    both = torch.cat((torch.exp(along - half), torch.exp(-along - half)), -1)
    return both / math.sqrt(2 * projection.shape[0])


def _stabilised(axes: tuple[int, ...]) -> Callable[[Tensor, Any], Tensor]:
    return lambda along, half: torch.exp(along - half - along.amax(axes, keepdim=True))


MISCONCEPTIONS = (
    Misconception(
        "√d missing",
        build(root=lambda x: 1.0),
        "x was not scaled, so the features estimate exp(q·k). Attention's scores are q·k/√d: which "
        "share of that root belongs to each of the two?",
    ),
    Misconception(
        "another root of d",
        build(root=lambda x: math.sqrt(x.shape[-1])),
        "x was divided by another power of d than its fourth root. Query and key are each divided "
        "once: what comes out for their product?",
        also=(
            build(root=lambda x: float(x.shape[-1])),
            build(root=lambda x: x.shape[-1] ** 0.125),
            build(root=lambda x: x.shape[-1] ** -0.25),
            build(root=lambda x: x.shape[-1] / 4),  # d**1/4
            build(root=lambda x: x.shape[-1] * 4.0),  # x / d**1/4
            build(root=lambda x: x.shape[-2] ** 0.25),
            build(root=lambda x: x.shape[0] ** 0.25),
        ),
    ),
    Misconception(
        "scale in one of the two terms",
        build(half=lambda x, w, given: 0.5 * given.square().sum(-1, keepdim=True)),
        "Only one of w·x' and |x'|²/2 was taken of the scaled x. Which x stands in both?",
        also=(
            lambda x, projection: build(product=lambda s, w: x @ w.mT)(x, projection),
            build(
                root=lambda x: 1.0,
                half=lambda x, w, given: (
                    0.5 * x.square().sum(-1, keepdim=True) / math.sqrt(x.shape[-1])
                ),
            ),
            build(
                half=lambda x, w, given: (
                    0.5 * x.square().sum(-1, keepdim=True) / x.shape[-1] ** 0.25
                ),
            ),
        ),
    ),
    Misconception(
        "no positive form",
        build(turn=lambda along, half: torch.exp(half) * along.cos()),
        "Sines and cosines can be negative, and so can the weights that are made of them. The "
        "positive form has one exponential for each row: of what?",
        also=(
            _waves,
            build(turn=lambda along, half: torch.exp(half) * along.sin()),
            build(turn=lambda along, half: along.cos()),
            build(turn=lambda along, half: along, half=lambda x, w, given: 0.0),
        ),
    ),
    Misconception(
        "both signs of every row",
        _both_signs,
        "There are two features for each row, one with each sign. That is the hyperbolic form: how "
        "many are asked for?",
        also=(build(turn=lambda along, half: along.cosh() * torch.exp(-half)),),
    ),
    *LENGTHS,
    Misconception(
        "sign of the product flipped",
        build(product=lambda x, w: -(x @ w.mT)),
        "The features rise where x points away from a row. Which sign does w·x' have?",
    ),
    Misconception(
        "√m missing",
        build(mean=lambda x, w: 1.0),
        "φ(q)·φ(k) is a sum of m products and not their mean. What must each feature be divided "
        "by, so that the product of two is divided by m?",
        also=(
            build(mean=lambda x, w: float(w.shape[0])),
            build(mean=lambda x, w: math.sqrt(w.shape[1])),
            build(mean=lambda x, w: math.sqrt(2 * w.shape[0])),
            build(mean=lambda x, w: w.shape[0] ** 0.25),
            build(mean=lambda x, w: 1 / math.sqrt(w.shape[0])),
        ),
    ),
    Misconception(
        "√m inside the exponential",
        lambda x, projection: build(mean=lambda x, w: 1.0)(x, projection).pow(
            projection.shape[0] ** -0.5
        ),
        "The exponent was divided by √m, and not the feature. φ(q)·φ(k) is to be a mean of m "
        "products: what has to be divided?",
        also=(build(turn=lambda a, h: torch.exp(a) / math.sqrt(a.shape[-1]) - h),),
    ),
    Misconception(
        "projection transposed",
        build(product=lambda x, w: x @ w),
        "The columns of the projection were taken for the random vectors. It is (m, d): which of "
        "its axes meets the features of x?",
    ),
    Misconception(
        "a stabiliser",
        build(turn=_stabilised((-1,))),
        "The largest exponent was taken off, or the features were made to sum to 1. In attention "
        "such a factor cancels; here the features themselves are asked for.",
        also=(
            build(turn=_stabilised((-2, -1))),
            build(turn=lambda a, h: torch.exp(a - h - (a - h).amax(-1, keepdim=True))),
            build(turn=lambda a, h: torch.exp(a - h - (a - h).amax((-2, -1), keepdim=True))),
            build(turn=lambda a, h: torch.exp(a - h - a.max())),
            build(turn=lambda a, h: (a - h).softmax(-1)),
            build(turn=lambda a, h: (a - h).softmax(-1), mean=lambda x, w: 1.0),
        ),
    ),
    Misconception(
        "an epsilon",
        build(turn=lambda a, h: torch.exp(a - h) + 1e-4),
        "Something small was added to every feature, as the Performer's code does against a sum of "
        "0. No stabiliser is asked for here.",
        also=tuple(
            build(turn=lambda a, h, small=small: torch.exp(a - h) + small)  # type: ignore[misc]
            for small in (1e-3, 1e-5, 1e-6)
        )
        + tuple(lambda x, w, small=small: build()(x, w) + small for small in (1e-3, 1e-4, 1e-6)),
    ),
    Misconception(
        "another function than exp",
        build(turn=lambda a, h: torch.relu(a)),
        "The features are not exponentials. Only exp makes a product of features of the sum of "
        "their exponents.",
        also=(
            build(turn=lambda a, h: torch.relu(a) + 1e-3),
            build(turn=lambda a, h: torch.nn.functional.elu(a - h) + 1),
            build(turn=lambda a, h: torch.nn.functional.softplus(a - h)),
            build(turn=lambda a, h: torch.sigmoid(a - h)),
            build(turn=lambda a, h: a - h),
            build(turn=lambda a, h: torch.exp(a) - h),
            build(turn=lambda a, h: torch.pow(2.0, a - h)),
            build(turn=lambda a, h: torch.nn.functional.elu(a) + 1),
            build(turn=lambda a, h: torch.relu(a) + 1e-3, mean=lambda x, w: 1.0),
        ),
    ),
    Misconception(
        "rows brought to length 1",
        build(product=lambda x, w: x @ torch.nn.functional.normalize(w, dim=-1).mT),
        "The rows of the projection, or x itself, were scaled besides. Their lengths are part of "
        "the draw: they are used as they are given.",
        also=(
            build(product=lambda x, w: x @ w.mT / math.sqrt(w.shape[0])),
            build(product=lambda x, w: x @ w.mT / math.sqrt(w.shape[1])),
            build(
                product=lambda x, w: (
                    x @ torch.nn.functional.normalize(w, dim=-1).mT * math.sqrt(w.shape[1])
                )
            ),
            build(root=lambda x: x.norm(dim=-1, keepdim=True)),
            build(product=lambda x, w: x @ torch.nn.functional.normalize(w, dim=0).mT),
        ),
    ),
    Misconception(
        "x cut off",
        lambda x, projection: build()(x.detach(), projection),
        "The values are right, but x or the projection gets no gradient. What cuts it off?",
        also=(
            lambda x, projection: build()(x, projection.detach()),
            build(half=lambda x, w, given: 0.5 * x.detach().square().sum(-1, keepdim=True)),
        ),
    ),
)
