"""Exercise: a kernel instead of the softmax, and the products in another order."""

from collections.abc import Callable
from typing import Any

import torch

from course_utils.attention import linear_attention
from course_utils.checking.exercise import Case, Cost, Exercise
from course_utils.checking.inputs import normal, strided
from course_utils.exercises.ch08_cheaper._averages import IS_AVERAGE
from course_utils.exercises.ch08_cheaper._counting import work
from course_utils.exercises.ch08_cheaper._linear_place_mistakes import MISCONCEPTIONS, PAIRS
from course_utils.measure import largest_tensor

Make = Callable[[torch.Generator], tuple[Any, ...]]


def _made(
    *leading: int, sizes: tuple[int, int, int, int], shift: float = 0.0, dtype: str = "float64"
) -> Make:
    """Make query, key and value of the sizes (L, S, d_k, d_v)."""
    length, num_keys, d_k, d_v = sizes
    kind = getattr(torch, dtype)

    def make(g: torch.Generator) -> tuple[Any, ...]:
        query = normal(g, *leading, length, d_k, dtype=kind) + shift
        key = normal(g, *leading, num_keys, d_k, dtype=kind) + shift
        return query, key, normal(g, *leading, num_keys, d_v, dtype=kind)

    return make


def _strided(g: torch.Generator) -> tuple[Any, ...]:
    return tuple(strided(x) for x in _made(2, sizes=(5, 6, 4, 3))(g))


def _long(length: int, g: torch.Generator) -> tuple[Any, ...]:
    return _made(1, 1, sizes=(length, length, 8, 8), dtype="float32")(g)


EXERCISE = Exercise(
    name="linear_attention",
    chapter=8,
    signature="linear_attention(query, key, value)",
    asks="Average the values under the weights φ(q)·φ(k), φ = elu + 1, at a cost linear in length.",
    reference=linear_attention,
    minutes=15,
    difficulty=3,
    importance=5,
    cases=(
        Case("2 queries, 3 keys", _made(sizes=(2, 3, 4, 5)), gradient="equal"),
        Case("a batch: 5 queries, 7 keys", _made(3, sizes=(5, 7, 4, 2))),
        Case("leading axes (2, 3)", _made(2, 3, sizes=(5, 4, 6, 7)), gradient="equal"),
        Case("4 queries, 4 keys, all widths 4", _made(4, 4, sizes=(4, 4, 4, 4))),
        Case("more queries than keys", _made(2, sizes=(9, 3, 5, 4))),
        Case("one key: its value", _made(2, 3, sizes=(4, 1, 5, 6))),
        Case("one query", _made(2, 3, sizes=(1, 5, 3, 2))),
        Case("one of everything", _made(1, 1, sizes=(1, 1, 1, 1))),
        Case("small features: inputs about -14", _made(2, sizes=(3, 5, 4, 6), shift=-14.0)),
        Case("large features: inputs about 50", _made(2, sizes=(3, 5, 4, 6), shift=50.0)),
        Case("70 queries, 130 keys", _made(2, sizes=(70, 130, 4, 3))),
        Case("inputs that do not lie in memory row by row", _strided),
        Case("float32", _made(2, sizes=(5, 7, 16, 4), dtype="float32"), tolerance=1e-4),
        Case("bfloat16", _made(2, sizes=(3, 5, 4, 6), dtype="bfloat16")),
    ),
    misconceptions=MISCONCEPTIONS,
    properties=(IS_AVERAGE,),
    costs=(
        Cost("the largest tensor", largest_tensor, (128, 1024), _long, 1.3, PAIRS.says, PAIRS),
        Cost("the work", work, (128, 1024), _long, 1.3, PAIRS.says, PAIRS),
    ),
    hints=(
        "Write the output of one query as a fraction: above Σ φ(q)·φ(k_s) v_s, below the same sum "
        "without the values. Which factor can be taken out of both sums?",
        "What is left in the sum above is a table of d_k × d_v numbers, and below a vector of d_k. "
        "Neither depends on the query: how often must they be computed?",
        "The table of all queries' weights has L × S entries. In (φ(Q) φ(K)ᵀ) V, which product "
        "should come first so that it never exists?",
        "Sum over the positions, the last axis but one. `keepdim` or `unsqueeze(-1)` keeps an axis "
        "for the division.",
    ),
)
