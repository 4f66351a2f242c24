"""What goes wrong with the pairs of RoPE: which features meet."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from course_utils.checking.exercise import Misconception
from course_utils.exercises.ch07_positions._rope_inputs import other_pairs
from course_utils.exercises.ch07_positions._rope_wrong import (
    PAIRINGS,
    build,
    crossed,
    each_twice,
    full_width,
    rotate,
    twice,
)


def _opposite(x: Tensor) -> tuple[Tensor, Tensor]:
    """Pair the first feature with the last."""
    half = x.shape[-1] // 2
    return x[..., :half], x[..., half:].flip(-1)


def _only_heads(out: Tensor, x: Tensor, positions: Tensor) -> Tensor:
    return torch.cat((out[:, :1], x[:, 1:]), dim=1)


def _first_pairs(share: float) -> Callable[..., tuple[Tensor, Tensor]]:
    """Turn a share of the pairs, at least one."""

    def turn(u: Tensor, v: Tensor, cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor]:
        some = max(math.ceil(share * u.shape[-1]), 1)
        new_u, new_v = rotate(u, v, cos, sin)
        return (
            torch.cat((new_u[..., :some], u[..., some:]), dim=-1),
            torch.cat((new_v[..., :some], v[..., some:]), dim=-1),
        )

    return turn


def pair_mistakes(pairing: str) -> tuple[Misconception, ...]:
    """Return mistakes in which features meet."""
    other = "split halves" if pairing == "interleaved" else "interleaved"
    split, join = PAIRINGS[other]
    wrong_twin, own_twin = (twice, each_twice) if pairing == "interleaved" else (each_twice, twice)
    partner = "the next one" if pairing == "interleaved" else "the one half the width further on"
    return (
        Misconception(
            "the other pairing",
            build(pairing, split=split, join=join),
            "Vectors turn by the right angles, but in the planes of the other pairing. Here a "
            f"feature's partner is {partner}.",
        ),
        Misconception(
            "pairs not put back where they were",
            build(pairing, join=join),
            "The pairs are found and turned, but the result has its features in another order "
            "than x. Which operation undoes the way they were taken apart?",
        ),
        Misconception(
            "wrong pairs: taken apart one way, put back another",
            build(pairing, split=split),
            "The members of a pair are taken from one pairing and put back as if they came from "
            "the other. Check with a vector of width 4 where each feature ends up.",
        ),
        Misconception(
            "angles laid out for the other pairing",
            full_width(wrong_twin, crossed(pairing)),
            "Each feature finds its partner, but the two members of a pair are turned by "
            "different angles. In which order must the angles be repeated to the full width?",
        ),
        Misconception(
            "partners of the other pairing",
            full_width(own_twin, crossed(other)),
            "The angles lie right, but a feature is mixed with the partner that the other pairing "
            f"gives it. Here it is {partner}.",
        ),
        Misconception(
            "wrong pairs",
            build(pairing, split=_opposite, join=lambda u, v: torch.cat((u, v.flip(-1)), dim=-1)),
            "Every vector keeps its length, so something is turned, but not the pairs that the "
            f"exercise names. Here a feature's partner is {partner}.",
            also=(
                build(
                    pairing,
                    split=lambda x: PAIRINGS[pairing][0](x.roll(1, -1)),
                    join=lambda u, v: PAIRINGS[pairing][1](u, v).roll(-1, -1),
                ),
            ),
            fits=other_pairs(pairing),
        ),
        Misconception(
            "only part of the features turned",
            build(pairing, turn=_first_pairs(0.5)),
            "Some features stay as they were at every position. GPT-NeoX does turn only a part of "
            "each head; how many are to be turned here?",
            also=(
                build(pairing, turn=_first_pairs(0.0)),
                build(pairing, turn=_first_pairs(0.25)),
            ),
        ),
        Misconception(
            "only the first head turned",
            build(pairing, after=_only_heads),
            "Only the first head is turned. Does a position mean something else to the others?",
        ),
    )
