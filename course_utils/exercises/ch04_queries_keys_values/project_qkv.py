"""Exercise: queries, keys and values from one sequence."""

from typing import Any

import torch

from course_utils.attention import project_qkv
from course_utils.checking.exercise import Case, Exercise
from course_utils.checking.inputs import normal, strided
from course_utils.exercises.ch03_scaled_dot_product._attention_inputs import Make
from course_utils.exercises.ch04_queries_keys_values._project_mistakes import WHICH
from course_utils.exercises.ch04_queries_keys_values._project_more_mistakes import MORE


def _made(
    batch: int,
    length: int,
    d_model: int,
    d_k: int,
    d_v: int,
    size: float = 1.0,
    dtype: str = "float64",
) -> Make:
    def make(g: torch.Generator) -> tuple[Any, ...]:
        kind = getattr(torch, dtype)
        shapes = ((batch, length, d_model), (d_model, d_k), (d_model, d_k), (d_model, d_v))
        x, *matrices = (normal(g, *shape, dtype=kind) for shape in shapes)
        return (size * x, *matrices)

    return make


def _strided(g: torch.Generator) -> tuple[Any, ...]:
    return tuple(strided(tensor) for tensor in _made(2, 4, 6, 3, 5)(g))


EXERCISE = Exercise(
    name="project_qkv",
    chapter=4,
    signature="project_qkv(x, W_q, W_k, W_v)",
    asks="Make the queries, keys and values of one sequence, each by a matrix of its own.",
    reference=project_qkv,
    minutes=5,
    difficulty=1,
    importance=5,
    parts=("query", "key", "value"),
    cases=(
        # All sizes equal: a mistake with axes gives numbers here, and can be named by them.
        Case("3 sequences, 3 positions, all widths 3", _made(3, 3, 3, 3, 3), gradient="equal"),
        Case("2 sequences, 5 positions, widths 6, 4 and 7", _made(2, 5, 6, 4, 7), gradient="equal"),
        Case("values narrower than keys", _made(2, 4, 6, 5, 2)),
        Case("heads as wide as the stream, values too", _made(2, 3, 4, 4, 4)),
        Case("wider than the stream", _made(3, 2, 4, 7, 9)),
        Case("one sequence", _made(1, 4, 5, 3, 6)),
        Case("one position", _made(3, 1, 5, 2, 4)),
        Case("every width 1", _made(2, 3, 1, 1, 1)),
        Case("large inputs", _made(2, 3, 5, 4, 6, size=1e4)),
        Case("inputs that do not lie in memory row by row", _strided),
        Case("float32", _made(2, 4, 8, 3, 5, dtype="float32")),
        Case("bfloat16", _made(2, 3, 4, 2, 5, dtype="bfloat16")),
    ),
    misconceptions=(*WHICH, *MORE),
    hints=(
        "Nothing but three matrix products. What does a position of `x` have as many of as each "
        "matrix has rows?",
        "`x` is (B, L, d_model), a matrix (d_model, width), a result (B, L, width). On which side "
        "of `x` does the matrix stand?",
        "All three are made from `x` itself, and come back as a tuple in the order of the "
        "matrices.",
    ),
)
