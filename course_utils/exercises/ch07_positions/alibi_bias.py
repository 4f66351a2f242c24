"""Exercise: what ALiBi adds to the scores."""

from typing import Any

from torch import Tensor

from course_utils.checking.exercise import Case, Exercise, Property
from course_utils.exercises.ch07_positions._alibi_mistakes import MISCONCEPTIONS
from course_utils.exercises.ch07_positions._alibi_wrong import future, judged
from course_utils.exercises.ch07_positions._numbers import numbers
from course_utils.positions import alibi_bias


def _case(name: str, heads: int, queries: int, keys: int) -> Case:
    return Case(name, numbers(heads, queries, keys), run=judged)


def _above_zero(args: tuple[Any, ...], bias: Tensor) -> str | None:
    past = bias.masked_fill(future(*args[1:]), 0)
    high = past.max().item()
    return f"A key of the past gets {high:.4g}." if high > 0 else None


def _own_not_zero(args: tuple[Any, ...], bias: Tensor) -> str | None:
    _, queries, keys = args
    own = bias.diagonal(offset=keys - queries, dim1=-2, dim2=-1)
    if not own.numel() or not bool(own.any()):
        return None
    head, place = (int(i) for i in own.nonzero()[0])
    i = place + max(queries - keys, 0)
    return f"Head {head} gives query {i} at its own key {own[head, place].item():.4g}."


EXERCISE = Exercise(
    name="alibi_bias",
    chapter=7,
    signature="alibi_bias(num_heads, num_queries, num_keys)",
    asks="Return what ALiBi adds to the scores of each head: -slope times the distance.",
    reference=alibi_bias,
    minutes=8,
    difficulty=2,
    importance=3,
    cases=(
        _case("1 head, 4 queries, 4 keys", 1, 4, 4),
        _case("8 heads, 3 queries, 3 keys", 8, 3, 3),
        _case("2 heads, 5 queries, 5 keys", 2, 5, 5),
        # Without a future nothing has to be left out, so the function is called as it is.
        Case("4 heads, one query, 6 keys: a decoder's step", numbers(4, 1, 6)),
        _case("4 heads, 3 queries, 7 keys: after a cache of 4", 4, 3, 7),
        _case("2 heads, 6 queries, 3 keys", 2, 6, 3),
        _case("7 heads, 4 queries, 9 keys", 7, 4, 9),
        _case("3 heads, 12 queries, 12 keys", 3, 12, 12),
        Case("one head, one query, one key", numbers(1, 1, 1)),
    ),
    misconceptions=MISCONCEPTIONS,
    properties=(
        Property("a query's own key gets 0", _own_not_zero),
        Property("no key of the past gains", _above_zero),
    ),
    hints=(
        "One table of distances serves all heads. What is its shape, and what has each head to "
        "itself?",
        "With L queries and S keys, the last query stands at position S - 1. Where does query i "
        "stand?",
        "Queries' positions as a column, keys' as a row: their difference is the table.",
        "Slopes of shape (H, 1, 1) times a table (L, S) give (H, L, S). Mind the sign.",
    ),
)
