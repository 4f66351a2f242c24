"""Exercise: attention to a few mixtures of the keys."""

from collections.abc import Callable
from typing import Any

import torch

from course_utils.attention import linformer_attention
from course_utils.checking.exercise import Case, Cost, Exercise
from course_utils.checking.inputs import normal, strided
from course_utils.exercises.ch08_cheaper._counting import work
from course_utils.exercises.ch08_cheaper._linformer_mistakes import LONG_TABLE, MISCONCEPTIONS
from course_utils.measure import largest_tensor

Make = Callable[[torch.Generator], tuple[Any, ...]]


def _made(
    *leading: int, sizes: tuple[int, int, int, int, int], size: float = 1.0, dtype: str = "float64"
) -> Make:
    """Make query, key, value, E and F of the sizes (L, S, r, d_k, d_v)."""
    length, num_keys, mixtures, d_k, d_v = sizes
    kind = getattr(torch, dtype)

    def make(g: torch.Generator) -> tuple[Any, ...]:
        query = normal(g, *leading, length, d_k, size=size, dtype=kind)
        key = normal(g, *leading, num_keys, d_k, size=size, dtype=kind)
        value = normal(g, *leading, num_keys, d_v, dtype=kind)
        E, F = (normal(g, num_keys, mixtures, size=0.7, dtype=kind) for _ in range(2))
        return query, key, value, E, F

    return make


def _strided(g: torch.Generator) -> tuple[Any, ...]:
    return tuple(strided(x) for x in _made(2, sizes=(5, 6, 3, 4, 7))(g))


def _long(length: int, g: torch.Generator) -> tuple[Any, ...]:
    return _made(1, sizes=(length, length, 4, 8, 8), dtype="float32")(g)


EXERCISE = Exercise(
    name="linformer_attention",
    chapter=8,
    signature="linformer_attention(query, key, value, E, F)",
    asks="Mix the keys by E and the values by F into r rows each, and attend to those.",
    reference=linformer_attention,
    minutes=10,
    difficulty=3,
    importance=3,
    cases=(
        Case("3 queries; 4 keys, 4 mixtures, all widths 4", _made(sizes=(3, 4, 4, 4, 4))),
        Case("5 queries, 7 keys, 3 mixtures", _made(sizes=(5, 7, 3, 4, 6)), gradient="equal"),
        Case("leading axes (2, 3)", _made(2, 3, sizes=(4, 9, 2, 6, 5)), gradient="equal"),
        Case("all sizes 4", _made(4, 4, sizes=(4, 4, 4, 4, 4))),
        Case("more queries than keys", _made(2, sizes=(8, 5, 3, 2, 4))),
        Case("one mixture", _made(2, sizes=(4, 6, 1, 5, 3))),
        Case("more mixtures than keys", _made(3, sizes=(4, 3, 7, 5, 2))),
        Case("one query, one key", _made(2, sizes=(1, 1, 2, 3, 4))),
        Case("scores of thousands", _made(2, sizes=(3, 6, 4, 9, 5), size=60.0)),
        Case("inputs that do not lie in memory row by row", _strided),
        Case("float32", _made(2, sizes=(5, 7, 3, 16, 4), dtype="float32"), tolerance=1e-4),
        Case("bfloat16", _made(2, sizes=(3, 5, 2, 4, 6), dtype="bfloat16"), tolerance=0.2),
    ),
    misconceptions=MISCONCEPTIONS,
    costs=(
        Cost(
            "the largest tensor", largest_tensor, (64, 512), _long, 1.3, LONG_TABLE.says, LONG_TABLE
        ),
        Cost("the work", work, (64, 512), _long, 1.3, LONG_TABLE.says, LONG_TABLE),
    ),
    hints=(
        "A mixture of keys is a sum of all keys, each with its own factor. Column c of E holds the "
        "factors of mixture c.",
        "r mixtures of S keys: which product of E and the keys has the shape (r, d_k)?",
        "Do the same with F and the values. What is left is scaled dot-product attention, with r "
        "keys and r values.",
    ),
)
