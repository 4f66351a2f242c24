"""Exercise: attention between features instead of tokens."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from course_utils.attention import cross_covariance_attention
from course_utils.checking.exercise import Case, Exercise
from course_utils.checking.inputs import normal, strided
from course_utils.exercises.ch08_cheaper._channel_mistakes import MISCONCEPTIONS

Make = Callable[[torch.Generator], tuple[Any, ...]]


def _made(
    *shape: int,
    temperature: float = 0.0,
    size: float = 1.0,
    dtype: torch.dtype = torch.float64,
) -> Make:
    """Make query, key and value (B, H, L, d), and a temperature: this one, or one for each head."""

    def make(g: torch.Generator) -> tuple[Any, ...]:
        query, key = (normal(g, *shape, size=size, dtype=dtype) for _ in range(2))
        value, each = normal(g, *shape, dtype=dtype), 1 + normal(g, shape[1], 1, 1).abs()
        return query, key, value, temperature or (4 * each).to(dtype)

    return make


def _strided(g: torch.Generator) -> tuple[Any, ...]:
    *tensors, temperature = _made(2, 3, 6, 4, temperature=3.0)(g)
    return *(strided(x) for x in tensors), temperature


def _unequal(g: torch.Generator) -> tuple[Tensor, ...]:
    """Make features of very different size, and means far from 0."""
    query, key, value, temperature = _made(2, 3, 7, 5)(g)
    sizes = torch.tensor([0.1, 1.0, 10.0, 0.3, 100.0], dtype=query.dtype)
    return (query + 0.5) * sizes, (key - 1.0) * sizes.flip(0), value, temperature


EXERCISE = Exercise(
    name="cross_covariance_attention",
    chapter=8,
    signature="cross_covariance_attention(query, key, value, temperature)",
    asks="Let the features of the values be mixed by how alike those of queries and keys are.",
    reference=cross_covariance_attention,
    minutes=12,
    difficulty=3,
    importance=3,
    cases=(
        Case("7 tokens, 4 features, temperature 2", _made(2, 3, 7, 4, temperature=2.0)),
        Case("3 tokens, 5 features, temperature 6", _made(3, 2, 3, 5, temperature=6.0)),
        Case("temperature 1", _made(2, 3, 5, 4, temperature=1.0), gradient="equal"),
        Case("temperature 0.4", _made(2, 3, 5, 4, temperature=0.4)),
        Case("a temperature for each head", _made(2, 3, 6, 4), gradient="equal"),
        Case("as many sequences as heads", _made(3, 3, 6, 4)),
        Case("as many tokens as features", _made(2, 4, 5, 5)),
        Case("all sizes 4", _made(4, 4, 4, 4)),
        Case("features of very different size", _unequal),
        Case("large inputs", _made(2, 3, 6, 4, temperature=5.0, size=1000.0)),
        Case("one feature", _made(2, 3, 4, 1)),
        Case("inputs that do not lie in memory row by row", _strided),
        Case("float32", _made(2, 3, 9, 6, dtype=torch.float32), tolerance=1e-4),
        Case(
            "bfloat16",
            _made(2, 3, 5, 4, temperature=1.0, dtype=torch.bfloat16),
            tolerance=0.2,
        ),
    ),
    misconceptions=MISCONCEPTIONS,
    hints=(
        "A feature of the query is a column: one number for each token. Two columns are compared "
        "like any two vectors, once both have length 1.",
        "Bring the columns of query and key to length 1, over the tokens, the last axis but one. "
        "Which product of them has the shape (d, d)?",
        "Multiply the scores by the temperature; (H, 1, 1) broadcasts to (B, H, d, d). A row "
        "belongs to a feature of the query: softmax along the last axis.",
        "Feature i of the output is a mixture of the value's features, with the shares of row i. "
        "The values have features in their columns: what must be turned in the product?",
    ),
)
