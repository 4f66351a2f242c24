"""What goes wrong in tiled attention: the sums over tiles, and the scale."""

import math
from typing import Any

import torch
from torch import Tensor

from course_utils.checking.exercise import Function, Misconception
from course_utils.exercises.ch09_flash._online import build as online
from course_utils.exercises.ch09_flash._online import kept, powers, top
from course_utils.exercises.ch09_flash._online_mistakes import FACTORS
from course_utils.exercises.ch09_flash._online_row_mistakes import ROWS
from course_utils.exercises.ch09_flash._online_state_mistakes import STATE
from course_utils.exercises.ch09_flash._tile_causal_mistakes import CAUSAL
from course_utils.exercises.ch09_flash._tile_lse_mistakes import RETURNED
from course_utils.exercises.ch09_flash._tile_place_mistakes import PLACES
from course_utils.exercises.ch09_flash._tile_way_mistakes import WAYS
from course_utils.exercises.ch09_flash._walking import build

# What a mistake in the step is called here too; the others come out as one of those below.
_IN_THE_STEP = {
    "acc not rescaled",
    "l not rescaled",
    "nothing rescaled",
    "the factor upside down",
    "the factor applied twice",
    "no exponential in the factor",
    "the factor on the new terms",
    "the new terms against the old maximum",
    "no maximum subtracted",
    "acc normalised",
    "l replaced",
    "acc replaced",
    "l is no sum",
    "acc without the weights",
    "a maximum of at least 0",
    "one maximum for all rows",
}


def _stepping(step: Function) -> Function:
    return build(step=step)


def _step_mistakes() -> tuple[Misconception, ...]:
    """Return the step's own mistakes, made in every tile."""
    return tuple(
        Misconception(m.name, _stepping(m.wrong), m.says, also=tuple(map(_stepping, m.also)))
        for m in (*FACTORS, *ROWS, *STATE)
        if m.name in _IN_THE_STEP
    )


def _by_softmax(m: Tensor, l: Tensor, acc: Tensor, scores: Tensor, value: Tensor) -> Any:
    """Add the tile's own softmax output, and count the tiles in l."""
    p = powers(m, top(scores), scores)
    total = p.sum(-1)
    share = p / total.masked_fill(total == 0.0, 1.0).unsqueeze(-1)
    return torch.maximum(m, top(scores)), l + (total > 0).to(l), acc + share @ value


def _scaled(factor: Any) -> Function:
    return build(scale=factor)


SUMS = (
    Misconception(
        "a softmax in every tile, added",
        build(step=_by_softmax, finish=lambda m, l, acc: (acc, m + l.log())),
        "Each tile was normalised by itself and the results were added: the weights of a query sum "
        "to the number of its tiles. How large a share of the whole has a tile?",
        also=(
            build(
                step=lambda m, l, acc, s, v: (
                    *online()(m, l, acc, s, v)[:2],
                    _by_softmax(m, l, acc, s, v)[2],
                ),
                finish=lambda m, l, acc: (acc, m + l.log()),
            ),
        ),
    ),
    Misconception(
        "the tiles' outputs averaged",
        build(step=_by_softmax),
        "Each tile was normalised by itself and all of them count alike. A tile with one high "
        "score, or a short one, does not weigh what the others do: which number says how much?",
        also=(
            build(
                step=lambda m, l, acc, s, v: (
                    *online()(m, l, acc, s, v)[:2],
                    _by_softmax(m, l, acc, s, v)[2],
                ),
                finish=lambda m, l, acc: (acc / 2, m + l.log()),
            ),
        ),
    ),
    Misconception(
        "the maximum of the tile alone",
        build(step=online(highest=lambda m, s: top(s), fade_l=kept, fade_acc=kept)),
        "Each tile is measured against its own maximum, and the sums are added. A sum over all "
        "tiles needs one measure: which maximum holds for all that was seen?",
        also=(
            build(
                step=online(weigh=lambda m, n, s: powers(m, top(s), s), fade_l=kept, fade_acc=kept)
            ),
            build(step=online(weigh=lambda m, n, s: powers(m, top(s), s))),
        ),
    ),
    Misconception(
        "not divided by l",
        build(finish=lambda m, l, acc: (acc, m + l.log())),
        "out is the sum of exponentials times values, and nothing divided it. What are the "
        "weights of a query to sum to?",
        also=(
            build(finish=lambda m, l, acc: (acc * l.unsqueeze(-1), m + l.log())),
            build(finish=lambda m, l, acc: (acc / (m + l.log()).exp().unsqueeze(-1), m + l.log())),
        ),
    ),
    Misconception(
        "the scale forgotten",
        _scaled(lambda q, k, v, at: 1.0),
        "out and lse are those of unscaled scores. What are the products of query and key divided "
        "by, in every tile?",
    ),
    Misconception(
        "scaled twice",
        _scaled(lambda q, k, v, at: 1 / q.shape[-1]),
        "The scores were divided by d, not by its root: the scale was applied twice, or to query "
        "and key both.",
    ),
    Misconception(
        "another scale",
        _scaled(lambda q, k, v, at: math.sqrt(q.shape[-1])),
        "The scores are multiplied by something else than 1/√d. Over how many products does one "
        "score sum?",
        also=(
            _scaled(lambda q, k, v, at: at.num_keys**-0.5),
            _scaled(lambda q, k, v, at: at.num_queries**-0.5),
            _scaled(lambda q, k, v, at: at.block_k**-0.5),
            _scaled(lambda q, k, v, at: at.block_q**-0.5),
            _scaled(lambda q, k, v, at: (at.k1 - at.k0) ** -0.5),
            _scaled(lambda q, k, v, at: (at.q1 - at.q0) ** -0.5),
            _scaled(lambda q, k, v, at: q.shape[1] ** -0.5),
            _scaled(lambda q, k, v, at: (q.shape[1] * q.shape[3]) ** -0.5),
            _scaled(lambda q, k, v, at: 1 / 8),
            _scaled(lambda q, k, v, at: float(q.shape[-1])),
        ),
    ),
)
MISCONCEPTIONS = (*WAYS, *SUMS, *RETURNED, *_step_mistakes(), *PLACES, *CAUSAL)
