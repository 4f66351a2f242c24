"""The layers on which a test of equivariance is tested."""

from collections.abc import Sequence
from typing import Any

import torch

from course_utils.checking.exercise import Case
from course_utils.checking.inputs import normal
from course_utils.exercises.ch07_positions._layers import (
    Layer,
    Make,
    attention,
    causal,
    changed_at,
    from_neighbours,
    high,
    last_feature,
    later,
    network,
    numbered,
    plain,
    pooled,
    signs,
    with_positions,
)

# Cycles of length 5, 4 and 3: none of them undoes itself.
FIVE, FOUR, THREE = (2, 0, 3, 4, 1), (1, 3, 0, 2), (1, 2, 0)
AWAY, STAYS = "uses the order of its tokens", "treats all tokens alike"


def planted(
    name: str,
    made: Make,
    does: str,
    shape: tuple[int, int, int] = (3, 5, 4),
    order: Sequence[int] = FIVE,
    dtype: str = "float64",
    rising: bool = False,
    lifted: bool = False,
) -> Case:
    """Return a case with a planted layer.

    Args:
        name: What the layer is.
        made: Makes it.
        does: What it does with the given permutation, as a learner reads it.
        shape: Of the sequences.
        order: The permutation.
        dtype: Of the sequences.
        rising: Whether the first feature of each token is its number.
        lifted: Whether all sequences but the first have high numbers.
    """

    def make(g: torch.Generator) -> tuple[Any, ...]:
        x = normal(g, *shape, dtype=getattr(torch, dtype))
        if rising:
            x[..., 0] = torch.arange(shape[1]).to(x.dtype)
        if lifted:
            x[1:] += 5.0
        return Layer(made(g, shape[-1])), x, torch.tensor(order)

    return Case(
        name,
        make,
        says=f"The layer is {name}: with this permutation it {does}. The answer says otherwise.",
    )


def adds_first(sign: float) -> Make:
    """Return a layer that adds the first token's first feature to everything."""
    return plain(lambda x: x + sign * x[:, :1, :1])


CASES = (
    planted("attention without positions", attention(), STAYS),
    planted("attention on tokens with positions", with_positions(), AWAY),
    planted("a feed-forward layer", network, STAYS),
    planted("attention under a causal mask", attention(causal), AWAY),
    planted("the mean of all tokens, at every place", plain(pooled), STAYS),
    planted("one that shifts all tokens by one", plain(lambda x: x.roll(1, 1)), AWAY),
    planted("one that sorts its tokens", plain(lambda x: x.sort(1).values), AWAY),
    planted("a running sum", plain(lambda x: x.cumsum(1)), AWAY),
    planted("attention with as many sequences as tokens", attention(), STAYS, (4, 4, 3), FOUR),
    planted(
        "attention with positions, as many sequences as tokens",
        with_positions(),
        AWAY,
        (4, 4, 3),
        FOUR,
    ),
    planted("attention with positions read along the batch", with_positions(axis=0), STAYS),
    planted(
        "positions along the batch, as many sequences as tokens",
        with_positions(axis=0),
        STAYS,
        (4, 4, 6),
        FOUR,
    ),
    planted("the difference from the mean of the batch", plain(lambda x: x - x.mean(0)), STAYS),
    planted("attention with positions a thousandth as large", with_positions(1e-3), AWAY),
    planted(
        "attention in float32", attention(size=0.2, shift=3.0), STAYS, (2, 5, 8), FIVE, "float32"
    ),
    planted("attention that fades to both sides", attention(lambda s: -s.abs()), AWAY),
    planted(
        "attention that fades to both sides, given the reversal",
        attention(lambda s: -s.abs()),
        STAYS,
        (3, 4, 5),
        (3, 2, 1, 0),
    ),
    planted("one that adds the token before, in a circle", plain(from_neighbours), AWAY),
    planted(
        "one that adds the token before, given a shift",
        plain(from_neighbours),
        STAYS,
        (2, 5, 3),
        (3, 4, 0, 1, 2),
    ),
    planted(
        "attention with positions, given the order as it is",
        with_positions(),
        STAYS,
        (2, 4, 6),
        (0, 1, 2, 3),
    ),
    planted("attention with positions on single tokens", with_positions(), STAYS, (2, 1, 4), (0,)),
    planted(
        "one that numbers the tokens of later sequences",
        plain(lambda x: numbered(x, later(x))),
        AWAY,
    ),
    planted(
        "one that numbers the tokens of sequences with high numbers",
        plain(lambda x: numbered(x, high(x))),
        AWAY,
        lifted=True,
    ),
    planted("one that numbers one feature", plain(lambda x: numbered(x, last_feature(x))), AWAY),
    planted("one that changes the last token", plain(lambda x: changed_at(x, -1)), AWAY),
    planted("one that changes the first token", plain(lambda x: changed_at(x, 0)), AWAY),
    planted(
        "one that changes a token in the middle",
        plain(lambda x: changed_at(x, 2)),
        AWAY,
        (2, 5, 3),
        (0, 2, 3, 1, 4),
    ),
    planted("one that adds the first token", adds_first(1.0), AWAY, rising=True),
    planted("one that takes the first token away", adds_first(-1.0), AWAY, rising=True),
    planted(
        "one that adds the first token to some features and takes it from others",
        plain(lambda x: x + x[:, :1, :1] * signs(x, 2)),
        AWAY,
        rising=True,
    ),
    planted(
        "one that turns signs by the place",
        plain(lambda x: x * signs(x, 1)),
        AWAY,
    ),
    planted(
        "one that moves weight from feature to feature by the place",
        plain(lambda x: numbered(x, signs(x, 2))),
        AWAY,
    ),
    planted(
        "one that raises one sequence by the place and lowers the other",
        plain(lambda x: numbered(x, signs(x, 0))),
        AWAY,
        (2, 5, 3),
    ),
    planted("one that reverses, given a cycle", plain(lambda x: x.flip(1)), AWAY, (2, 3, 4), THREE),
)
