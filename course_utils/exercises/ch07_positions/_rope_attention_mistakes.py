"""What goes wrong where RoPE meets attention: each mistake as something to run."""

import math

import torch
from torch import Tensor

from course_utils.exercises.ch07_positions._rope_attention_place_mistakes import WHERE
from course_utils.exercises.ch07_positions._rope_attention_wrong import build, of
from course_utils.positions import rope_interleaved as _r

WHAT = (
    of(
        "value rotated too",
        "The values are turned as well. They are what is handed over: with a value at position 7 "
        "turned, its own weight of 1 would not give it back.",
        build(lambda q, k, v, at, of, b: (_r(q, at, b), _r(k, of, b), _r(v, of, b))),
        build(
            lambda q, k, v, at, of, b: (q, k, _r(v, of, b)),
        ),
        build(
            lambda q, k, v, at, of, b: (
                _r(q, at, b),
                _r(k, of, b),
                v if v.shape[-1] % 2 else _r(v, of, b),
            )
        ),
    ),
    of(
        "the output rotated",
        "The output is turned by the query's position. Only queries and keys are turned.",
        build(after=lambda out, at, b: _r(out, at, b)),
        build(after=lambda out, at, b: _r(out, -at, b)),
    ),
    of(
        "values turned forth and back",
        "The values are turned, and the output is turned back by the query's position: RoPE does "
        "not do that.",
        build(
            lambda q, k, v, at, of, b: (_r(q, at, b), _r(k, of, b), _r(v, of, b)),
            after=lambda out, at, b: _r(out, -at, b),
        ),
    ),
    of(
        "nothing turned",
        "Positions make no difference: this is plain attention. Where do they come in?",
        build(lambda q, k, v, at, of, b: (q, k, v)),
    ),
    of(
        "only the queries turned",
        "The scores depend on where the query stands, and not on its distance from the key: the "
        "keys were not turned.",
        build(lambda q, k, v, at, of, b: (_r(q, at, b), k, v)),
    ),
    of(
        "only the keys turned",
        "The scores depend on where the key stands, and not on its distance from the query: the "
        "queries were not turned.",
        build(lambda q, k, v, at, of, b: (q, _r(k, of, b), v)),
    ),
    of(
        "turned against each other",
        "The scores depend on the sum of the two positions: queries and keys are turned in "
        "opposite directions.",
        build(lambda q, k, v, at, of, b: (_r(q, at, b), _r(k, -of, b), v)),
        build(lambda q, k, v, at, of, b: (_r(q, -at, b), _r(k, of, b), v)),
    ),
    of(
        "everything turned twice",
        "The distance counts twice: each vector is turned a second time. Where?",
        build(lambda q, k, v, at, of, b: (_r(q, 2 * at, b), _r(k, 2 * of, b), v)),
    ),
    of(
        "one side turned twice",
        "Either the queries or the keys are turned twice, so that the scores do not depend on the "
        "distance alone. Each is turned by its own position, once.",
        build(lambda q, k, v, at, of, b: (_r(q, 2 * at, b), _r(k, of, b), v)),
        build(lambda q, k, v, at, of, b: (_r(q, at, b), _r(k, 2 * of, b), v)),
    ),
)


def _scaled_late(
    q: Tensor, k: Tensor, v: Tensor, at: Tensor, of: Tensor, base: float = 10000.0
) -> Tensor:
    """Scale the weights instead of the scores."""
    attend = build(score=lambda q, k: q @ k.mT)
    made: Tensor = attend(q, k, v, at, of, base)
    return made / math.sqrt(q.shape[-1])


ATTEND = (
    of(
        "scores not scaled",
        "The scores that enter the softmax are too large: which scale keeps their variance at 1?",
        build(score=lambda q, k: q @ k.mT),
        _scaled_late,
    ),
    of(
        "divided by the width",
        "The scores are divided by d_k, not by its root, or multiplied by it.",
        build(score=lambda q, k: q @ k.mT / q.shape[-1]),
        build(score=lambda q, k: q @ k.mT * q.shape[-1] ** 0.5),
        build(score=lambda q, k: q @ k.mT / math.sqrt(q.shape[-1] / 2)),
    ),
    of(
        "softmax over the queries",
        "The weights of a key sum to 1 instead of those of a query. Over which axis is the "
        "softmax taken?",
        build(weigh=lambda scores: torch.softmax(scores, -2)),
    ),
    of(
        "no softmax",
        "The scores themselves are used as weights, negative ones too. What makes each row sum "
        "to 1?",
        build(weigh=lambda scores: scores),
    ),
    of(
        "a causal mask added",
        "No mask is asked for: all keys that are handed over may be seen.",
        build(
            weigh=lambda s: torch.softmax(
                s.masked_fill(torch.ones(s.shape[-2:]).tril(s.shape[-1] - s.shape[-2]) == 0, -1e9),
                -1,
            )
        ),
        build(
            weigh=lambda s: torch.softmax(
                s.masked_fill(torch.ones(s.shape[-2:]).tril() == 0, -1e9), -1
            )
        ),
    ),
)

MISCONCEPTIONS = (*WHAT, *WHERE, *ATTEND)
