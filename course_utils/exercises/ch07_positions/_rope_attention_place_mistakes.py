"""What goes wrong with the positions in attention with RoPE: each mistake as something to run."""

import torch
from torch import Tensor

from course_utils.exercises.ch07_positions._rope_attention_wrong import (
    build,
    of,
    turned,
    turned_by,
)
from course_utils.exercises.ch07_positions._rope_wrong import build as build_rope
from course_utils.exercises.ch07_positions._rope_wrong import given, powers
from course_utils.positions import rope_interleaved as _r
from course_utils.positions import rope_split_halves


def _start(x: Tensor, positions: Tensor) -> Tensor:
    """Count from 0, whatever is given."""
    return torch.arange(x.shape[-2])


def _cut(at: Tensor, length: int) -> Tensor:
    return at[..., :length] if at.shape[-1] >= length else torch.arange(length)


def _where_equal(wrong: Tensor, right: Tensor) -> Tensor:
    """Take the wrong positions where there are as many."""
    return wrong if wrong.shape == right.shape else right


WHERE = (
    of(
        "positions ignored",
        "Queries and keys are counted from 0, whatever the positions say.",
        turned_by(build_rope("interleaved", place=_start)),
    ),
    of(
        "queries counted from 0",
        "The queries are turned as if they stood at 0, 1, 2, ...; after a cache they stand at its "
        "end.",
        build(lambda q, k, v, at, of, b: (_r(q, torch.arange(q.shape[-2]), b), _r(k, of, b), v)),
    ),
    of(
        "keys counted from 0",
        "The keys are turned as if they stood at 0, 1, 2, ...: `key_positions` is not used.",
        build(lambda q, k, v, at, of, b: (_r(q, at, b), _r(k, torch.arange(k.shape[-2]), b), v)),
    ),
    of(
        "the queries' positions for the keys",
        "The keys are turned by the positions of the queries. With a cache there are more keys "
        "than queries.",
        build(lambda q, k, v, at, of, b: (_r(q, at, b), _r(k, _cut(at, k.shape[-2]), b), v)),
        build(lambda q, k, v, at, of, b: (_r(q, at, b), _r(k, at, b), v)),
        build(lambda q, k, v, at, of, b: (_r(q, at, b), _r(k, _where_equal(at, of), b), v)),
    ),
    of(
        "the keys' positions for the queries",
        "The queries are turned by positions of keys. Where do they stand after a cache?",
        build(lambda q, k, v, at, of, b: (_r(q, _cut(of, q.shape[-2]), b), _r(k, of, b), v)),
        build(lambda q, k, v, at, of, b: (_r(q, of, b), _r(k, of, b), v)),
        build(lambda q, k, v, at, of, b: (_r(q, _where_equal(of, at), b), _r(k, of, b), v)),
        build(
            lambda q, k, v, at, of, b: (
                _r(q, _cut(of, q.shape[-2]), b),
                _r(k, _cut(at, k.shape[-2]), b),
                v,
            )
        ),
    ),
    of(
        "the other pairing",
        "Queries or keys are turned in the pairs of split halves, and their features do not lie "
        "for that. Which function turns neighbours?",
        turned_by(rope_split_halves),
        build(lambda q, k, v, at, of, b: (_r(q, at, b), rope_split_halves(k, of, b), v)),
        build(lambda q, k, v, at, of, b: (rope_split_halves(q, at, b), _r(k, of, b), v)),
    ),
    of(
        "negative angle",
        "Everything turns the wrong way round, and the distance has the wrong sign for the query.",
        build(lambda q, k, v, at, of, b: (_r(q, of.max() - at, b), _r(k, of, b), v)),
        build(lambda q, k, v, at, of, b: (_r(q, at, b), _r(k, at.max() - of, b), v)),
    ),
    of(
        "base hard-coded",
        "Every base gives the same result. Is the argument handed on?",
        build(lambda q, k, v, at, of, b: turned(q, k, v, at, of, 10000.0)),
        build(lambda q, k, v, at, of, b: (_r(q, at, b), _r(k, of), v)),
        build(lambda q, k, v, at, of, b: (_r(q, at), _r(k, of, b), v)),
    ),
    of(
        "one frequency",
        "All pairs turn equally fast. How does the angle depend on the number of the pair?",
        turned_by(
            build_rope("interleaved", speed=lambda x, b: torch.ones(x.shape[-1] // 2).double())
        ),
    ),
    of(
        "encodings added",
        "Sines and cosines are added to queries and keys. RoPE turns them.",
        turned_by(
            build_rope(
                "interleaved", turn=lambda u, v, c, s: (u + s, v + c), place=given, speed=powers
            )
        ),
    ),
)
