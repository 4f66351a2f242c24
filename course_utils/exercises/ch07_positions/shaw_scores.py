"""Exercise: Shaw's scores."""

from typing import Any

import torch

from course_utils.checking.exercise import Case, Exercise
from course_utils.checking.inputs import normal, strided
from course_utils.exercises.ch07_positions._shaw_mistakes import MISCONCEPTIONS
from course_utils.positions import shaw_scores


def _made(
    batch: int,
    heads: int,
    queries: int,
    keys: int,
    width: int,
    reach: int,
    *scale: float,
    dtype: str = "float64",
) -> Any:
    def make(g: torch.Generator) -> tuple[Any, ...]:
        kind = getattr(torch, dtype)
        query = normal(g, batch, heads, queries, width, dtype=kind)
        key = normal(g, batch, heads, keys, width, dtype=kind)
        return query, key, normal(g, 2 * reach + 1, width, dtype=kind), reach, *scale

    return make


def _strided(g: torch.Generator) -> tuple[Any, ...]:
    query, key, table, reach = _made(2, 3, 4, 6, 5, 2)(g)
    return strided(query), strided(key), strided(table), reach


EXERCISE = Exercise(
    name="shaw_scores",
    chapter=7,
    signature="shaw_scores(query, key, relative_embedding, max_distance, scale=None)",
    asks="Add to each score what the query makes of the vector for its clipped distance.",
    reference=shaw_scores,
    minutes=15,
    difficulty=3,
    importance=3,
    cases=(
        Case("3 queries, 3 keys, distances up to 2", _made(1, 1, 3, 3, 4, 2)),
        Case("6 queries, 6 keys, distances up to 2", _made(1, 1, 6, 6, 4, 2), gradient="equal"),
        Case(
            "4 queries, 7 keys, two sequences, three heads",
            _made(2, 3, 4, 7, 5, 3),
            gradient="equal",
        ),
        Case("more queries than keys", _made(2, 3, 7, 4, 6, 2)),
        Case("distances up to 1", _made(2, 3, 5, 6, 4, 1)),
        Case("max_distance=0: one vector for all", _made(2, 3, 4, 5, 6, 0)),
        Case("max_distance beyond the length", _made(2, 3, 4, 5, 6, 9)),
        Case("scale=0.3", _made(2, 3, 4, 6, 5, 2, 0.3)),
        Case("scale=0.0", _made(2, 3, 4, 6, 5, 2, 0.0)),
        Case("scale=2, a whole number", _made(1, 2, 4, 6, 5, 2, 2)),
        Case("as many sequences as heads and queries", _made(3, 3, 3, 8, 5, 2)),
        Case("5 everywhere: all fits any way round", _made(5, 5, 5, 5, 5, 2)),
        Case("one query, one key", _made(2, 3, 1, 1, 4, 2)),
        Case("inputs that do not lie in memory row by row", _strided),
        Case("float32", _made(2, 3, 5, 4, 6, 2, dtype="float32")),
        Case("bfloat16", _made(1, 2, 3, 4, 5, 1, dtype="bfloat16")),
    ),
    misconceptions=MISCONCEPTIONS,
    hints=(
        "Make the table of distances first: (L, S), entry i, j is j - i. What becomes of distances "
        "beyond max_distance?",
        "The table has rows for -max_distance to +max_distance. Which row is that of distance 0?",
        "Looking up the table at all pairs gives vectors (L, S, d_k). Each meets the query of its "
        "row: which axes does an einsum keep?",
        "Cheaper: multiply each query with all 2·max_distance + 1 vectors once, then pick from the "
        "products with `gather`.",
        "The scale multiplies the sum of both parts, and scale=0.0 is a scale.",
    ),
)
