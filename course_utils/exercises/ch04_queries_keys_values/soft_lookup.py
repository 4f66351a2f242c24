"""Exercise: a dictionary that answers with a mixture of its values."""

from typing import Any

import torch
from torch import Tensor

from course_utils.attention import soft_lookup
from course_utils.checking.exercise import Case, Exercise, Property
from course_utils.checking.inputs import normal, strided
from course_utils.exercises.ch03_scaled_dot_product._attention_inputs import Make, made
from course_utils.exercises.ch04_queries_keys_values._lookup_mistakes import TEMPERATURE
from course_utils.exercises.ch04_queries_keys_values._lookup_steps import build
from course_utils.exercises.ch04_queries_keys_values._score_mistakes import (
    score_mistakes,
    softmax_over_keys_mistakes,
)
from course_utils.exercises.ch04_queries_keys_values._share_mistakes import share_mistakes
from course_utils.exercises.ch04_queries_keys_values._value_mistakes import value_mistakes


def _at(temperature: float, **sizes: Any) -> Make:
    make = made(**sizes)
    return lambda g: (*make(g), temperature)


def _nearly_tied(g: torch.Generator) -> tuple[Any, ...]:
    """Make scores that differ by hundredths, so that the choice is soft even at 0.01."""
    query, key = normal(g, 3, 4, size=0.1), normal(g, 6, 4, size=0.1)
    return query, key, normal(g, 6, 5), 0.01


def _far_apart(g: torch.Generator) -> tuple[Any, ...]:
    """Make one row of scores of about 10,000 and one of about -10,000, soft within each row."""
    query, key = normal(g, 4, 3), normal(g, 5, 3)
    query[:, 0] = torch.tensor([1e3, -1e3, 1.0, 0.0], dtype=query.dtype)
    key[:, 0] = 10.0
    return query, key, normal(g, 5, 6), 0.5


def _hundreds(g: torch.Generator) -> tuple[Any, ...]:
    """Make scores of about 500: halved temperature, they are too large for exp alone."""
    query, key = normal(g, 3, 4), normal(g, 5, 4)
    query[:, 0], key[:, 0] = 25.0, 20.0
    return query, key, normal(g, 5, 2), 0.5


def _equal_keys(g: torch.Generator) -> tuple[Any, ...]:
    query, key = normal(g, 3, 2), normal(g, 1, 2).repeat(4, 1)
    return query, key, normal(g, 4, 5), 0.01


def _zero_key(g: torch.Generator) -> tuple[Any, ...]:
    query, key = normal(g, 3, 4), normal(g, 5, 4)
    key[2] = 0.0
    return query, key, normal(g, 5, 6), 0.9


def _strided(g: torch.Generator) -> tuple[Any, ...]:
    query, key, value = made(queries=4, keys=6, d_k=3, d_v=5)(g)
    return strided(query), strided(key), strided(value), 0.7


def _outside_the_values(args: tuple[Any, ...], out: Tensor) -> str | None:
    value = args[2].double()
    low, high = value.min(0).values, value.max(0).values
    room = 0.05 * (high - low) + 0.05
    got = out.detach().double()
    # A NaN is outside too: no comparison with it holds.
    wrong = (~((got >= low - room) & (got <= high + room))).nonzero()
    if not len(wrong):
        return None
    where = tuple(int(i) for i in wrong[0])
    return (
        f"The output at index {list(where)} is {out[where].item():.4g}, outside the range of the "
        "values that it should average."
    )


EXERCISE = Exercise(
    name="soft_lookup",
    chapter=4,
    signature="soft_lookup(query, key, value, temperature)",
    asks="Average the values, each weighted by softmax(query·key / temperature).",
    reference=soft_lookup,
    minutes=8,
    difficulty=2,
    importance=4,
    cases=(
        Case(
            "3 queries, 3 entries, all widths 3",
            _at(0.6, queries=3, keys=3, d_k=3, d_v=3),
            gradient="equal",
        ),
        Case(
            "2 queries, 5 entries, temperature 1.7",
            _at(1.7, queries=2, keys=5, d_k=4, d_v=3),
            gradient="equal",
        ),
        Case("more queries than entries", _at(0.8, queries=7, keys=3, d_k=5, d_v=4)),
        Case("temperature 1", _at(1.0, queries=3, keys=5, d_k=4, d_v=6)),
        Case("temperature 0.2", _at(0.2, queries=3, keys=4, d_k=5, d_v=2), gradient="equal"),
        Case("temperature 5, a whole number", _at(5, queries=3, keys=6, d_k=4, d_v=5)),
        Case("temperature 1000: nearly a plain mean", _at(1e3, queries=2, keys=4, d_k=3, d_v=5)),
        Case("temperature 0.01", _at(0.01, queries=4, keys=6, d_k=3, d_v=5), gradient="equal"),
        Case("temperature 0.01, scores that nearly tie", _nearly_tied, gradient="equal"),
        Case("temperature 0.01, keys that are all equal", _equal_keys),
        Case("an entry whose key is zero", _zero_key),
        Case("temperature 0.5, scores of about 500", _hundreds, gradient="equal"),
        Case(
            "temperature 0.01, scores of thousands",
            _at(0.01, queries=3, keys=5, d_k=4, d_v=6, size=60.0),
            gradient="finite",
        ),
        Case("rows of scores that lie 20,000 apart", _far_apart, gradient="finite"),
        Case("one query and one entry", _at(0.3, queries=1, keys=1, d_k=4, d_v=3)),
        Case("one query, everything of width 1", _at(0.5, queries=1, keys=5, d_k=1, d_v=1)),
        Case("inputs that do not lie in memory row by row", _strided),
        Case("float32", _at(0.4, queries=3, keys=5, d_k=6, d_v=4, dtype="float32")),
        Case(
            "float32 at temperature 0.01",
            _at(0.01, queries=3, keys=5, d_k=4, d_v=2, dtype="float32", size=3.0),
            tolerance=1e-3,
        ),
        Case("bfloat16", _at(2.0, queries=3, keys=4, d_k=3, d_v=5, dtype="bfloat16")),
    ),
    misconceptions=(
        *TEMPERATURE,
        *score_mistakes(build),
        *softmax_over_keys_mistakes(build),
        *share_mistakes(build),
        *value_mistakes(build),
    ),
    properties=(Property("the output is an average of values", _outside_the_values),),
    hints=(
        "Three steps: compare each query with each key, turn each row of scores into shares, mix "
        "the values with them.",
        "All comparisons are one matrix product, of shape (L, S). Which of the two must be "
        "transposed for that?",
        "The temperature acts on the scores. If it is small, must differences grow or shrink?",
        "Scores divided by 0.01 can be in the thousands. A softmax that subtracts the largest of "
        "each row survives them: torch's and yours from chapter 03 do.",
    ),
)
