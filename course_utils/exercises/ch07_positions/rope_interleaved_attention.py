"""Exercise: attention whose queries and keys are turned by their positions."""

from typing import Any

import torch

from course_utils.checking.exercise import Case, Exercise
from course_utils.checking.inputs import normal
from course_utils.exercises.ch07_positions._rope_attention_mistakes import MISCONCEPTIONS
from course_utils.exercises.ch07_positions._rope_inputs import ROUNDING
from course_utils.positions import rope_interleaved_attention


def _case(
    name: str,
    sizes: tuple[int, ...],
    at: Any,
    of: Any,
    *base: float,
    dtype: str = "float64",
    gradient: str = "",
) -> Case:
    """Return a case of sizes (B, H, L, S, d_k, d_v) with queries `at` and keys `of` positions."""

    def make(g: torch.Generator) -> tuple[Any, ...]:
        batch, heads, queries, keys, d_k, d_v = sizes
        kind = getattr(torch, dtype)
        query = normal(g, batch, heads, queries, d_k, dtype=kind)
        key = normal(g, batch, heads, keys, d_k, dtype=kind)
        value = normal(g, batch, heads, keys, d_v, dtype=kind)
        return query, key, value, torch.tensor(at), torch.tensor(of), *base

    return Case(name, make, gradient=gradient, tolerance=ROUNDING)


EXERCISE = Exercise(
    name="rope_interleaved_attention",
    chapter=7,
    signature="rope_interleaved_attention"
    "(query, key, value, query_positions, key_positions, base=10000.0)",
    asks="Attend with queries and keys turned by their positions, in interleaved pairs.",
    reference=rope_interleaved_attention,
    minutes=8,
    difficulty=2,
    importance=4,
    cases=(
        _case("4 tokens from position 0, one head", (1, 1, 4, 4, 4, 4), [0, 1, 2, 3], [0, 1, 2, 3]),
        _case("4 tokens from position 5", (1, 1, 4, 4, 6, 6), [5, 6, 7, 8], [5, 6, 7, 8]),
        _case(
            "two sequences, three heads, float32",
            (2, 3, 5, 5, 4, 6),
            [0, 1, 2, 3, 4],
            [0, 1, 2, 3, 4],
            dtype="float32",
            gradient="equal",
        ),
        _case("2 queries after a cache of 3", (2, 3, 2, 5, 6, 4), [3, 4], [0, 1, 2, 3, 4]),
        _case("one query: a decoder's step", (2, 3, 1, 6, 8, 2), [5], [0, 1, 2, 3, 4, 5]),
        _case("keys that do not start at 0", (1, 2, 4, 3, 6, 4), [9, 2, 7, 4], [4, 8, 6]),
        _case(
            "4 everywhere, the keys at other positions",
            (4, 4, 4, 4, 4, 4),
            [7, 8, 9, 10],
            [0, 3, 1, 5],
        ),
        _case(
            "positions of each sequence",
            (2, 3, 3, 4, 6, 4),
            [[4, 5, 6], [9, 2, 7]],
            [[3, 4, 5, 6], [1, 0, 8, 2]],
        ),
        _case("base=100.0", (2, 3, 3, 4, 8, 4), [4, 5, 6], [2, 4, 6, 8], 100.0),
        _case("real positions", (1, 2, 3, 4, 6, 4), [0.5, 2.25, 7.0], [0.25, 1.5, 3.75, 6.0]),
        _case("values of odd width", (1, 2, 3, 4, 6, 5), [1, 2, 3], [0, 1, 2, 3]),
    ),
    misconceptions=MISCONCEPTIONS,
    hints=(
        "You have both parts already: `rope_interleaved`, and attention from chapter 03. What "
        "goes in between?",
        "Which of query, key and value decide on the weights, and which is only averaged?",
        "Queries and keys have positions of their own: after a cache there are more keys.",
    ),
)
