"""What goes wrong in ALiBi's bias: each mistake as something to run."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from course_utils.exercises.ch07_positions._alibi_place_mistakes import PLACE
from course_utils.exercises.ch07_positions._alibi_wrong import build, fell, of
from course_utils.positions import alibi_slopes


def _geometric(start: int) -> Callable[[int], Tensor]:
    return lambda n: torch.tensor([2.0 ** (-8 * (h + start) / n) for h in range(n)])


def _whole(distance: Tensor, keys: int) -> Tensor:
    return -distance / max(keys, 1)


SLOPE = (
    of(
        "slopes missing",
        "All heads have the same bias, the bare distance. What multiplies it?",
        build(slope=lambda n: torch.ones(n)),
    ),
    of(
        "slopes in reverse",
        "The first head looks furthest; with the largest slope it should look least far.",
        build(slope=lambda n: alibi_slopes(n).flip(0)),
    ),
    of(
        "a geometric series from 1",
        "The first head's slope is 1: the series begins one step too early.",
        build(slope=_geometric(0)),
    ),
    of(
        "the slopes of a power of two for every number of heads",
        "Right for 1, 2, 4, 8 heads. Your `alibi_slopes` knows what to do for others.",
        build(slope=_geometric(1)),
    ),
    of(
        "slopes in order of size",
        "The right slopes in another order: `alibi_slopes` puts those that fill the gaps last.",
        build(slope=lambda n: alibi_slopes(n).sort(descending=True).values),
        build(slope=lambda n: alibi_slopes(n).sort().values),
    ),
    of(
        "halved from head to head",
        "The slopes are 1/2, 1/4, 1/8, ... for every number of heads. That is right for 8 only.",
        build(slope=lambda n: torch.tensor([2.0**-h for h in range(1, n + 1)])),
    ),
    of(
        "slopes all of the first head",
        "Every head has the same slope, so all look equally far. Which axis do the slopes lie "
        "along?",
        build(slope=lambda n: alibi_slopes(n)[:1].expand(n)),
        build(slope=lambda n: alibi_slopes(n).mean().expand(n)),
        build(slope=lambda n: torch.full((n,), 1 / n)),
    ),
    of(
        "slope used twice",
        "The slopes are squared, or multiplied in a second time. How often does a slope meet a "
        "distance?",
        build(slope=lambda n: alibi_slopes(n) ** 2),
    ),
    of(
        "divided by the slope",
        "Heads with small slopes lose most. The slope multiplies the distance.",
        build(slope=lambda n: 1 / alibi_slopes(n)),
    ),
    of(
        "slope added instead of multiplied",
        "Slope and distance are added. Then all heads fall equally fast.",
        build(meet=lambda slope, fall: fall - slope[:, None, None]),
        build(meet=lambda slope, fall: fall + slope[:, None, None]),
    ),
)

FALL = (
    of(
        "distance squared",
        "The bias falls faster than a line. ALiBi is linear: what is done to the distance?",
        fell(lambda d: -d.square()),
    ),
    of(
        "logarithm of the distance",
        "The bias flattens out with the distance. What does the L in ALiBi stand for?",
        fell(lambda d: -torch.log1p(d.abs())),
        fell(lambda d: -d.abs().sqrt()),
    ),
    of(
        "distance as a share of the length",
        "The same distance costs less in a longer sequence: it was divided by the length.",
        build(penalty=_whole),
        build(penalty=lambda d, k: -d / max(k - 1, 1)),
    ),
    of(
        "distance clipped",
        "Beyond some distance nothing more is lost. ALiBi's line has no end.",
        fell(lambda d: -d.clamp(max=2)),
        fell(lambda d: -d.clamp(max=4)),
        fell(lambda d: -d.clamp(max=1)),
        fell(lambda d: -d.clamp(max=8)),
        fell(lambda d: -d.clamp(max=3)),
    ),
    of(
        "divided or cut",
        "The values are too small by one factor, or cut to whole numbers. The bias is added to "
        "scores that are scaled already: nothing divides it.",
        fell(lambda d: -d / 2),
        fell(lambda d: -d / math.sqrt(2)),
        build(meet=lambda slope, fall: slope[:, None, None] * fall / math.sqrt(len(slope))),
        build(meet=lambda slope, fall: slope[:, None, None] * fall / len(slope)),
        build(meet=lambda slope, fall: (slope[:, None, None] * fall).trunc()),
        build(meet=lambda slope, fall: (slope[:, None, None] * fall).floor()),
    ),
    of(
        "exponential of the bias",
        "The values are factors for the weights; a bias is added to scores before the softmax.",
        build(meet=lambda slope, fall: torch.exp(slope[:, None, None] * fall)),
    ),
)

MISCONCEPTIONS = (*PLACE, *SLOPE, *FALL)
