"""Exercise: a causal window that costs what it shows."""

from collections.abc import Callable
from typing import Any

import torch

from course_utils.attention import sliding_window_attention
from course_utils.checking.exercise import Case, Cost, Exercise
from course_utils.checking.inputs import normal, strided
from course_utils.exercises.ch08_cheaper._averages import IS_AVERAGE
from course_utils.exercises.ch08_cheaper._counting import work
from course_utils.exercises.ch08_cheaper._sliding_mistakes import MISCONCEPTIONS
from course_utils.exercises.ch08_cheaper._window_dear import DENSE
from course_utils.measure import largest_tensor

Make = Callable[[torch.Generator], tuple[Any, ...]]


def _made(*shape: int, window: int, size: float = 1.0, dtype: torch.dtype = torch.float64) -> Make:
    """Make query, key and value of one shape, and the window."""

    def make(g: torch.Generator) -> tuple[Any, ...]:
        query, key = (normal(g, *shape, size=size, dtype=dtype) for _ in range(2))
        return query, key, normal(g, *shape, dtype=dtype), window

    return make


def _against_the_window(g: torch.Generator) -> tuple[Any, ...]:
    query, key, value, window = _made(2, 3, 7, 4, window=2)(g)
    high = torch.tensor([1.0, -1.0, -1.0, -1.0, -1.0, 1.0, -1.0], dtype=key.dtype)
    return query.abs() + 1.0, key + 1e4 * high.unsqueeze(-1), value, window


def _strided(g: torch.Generator) -> tuple[Any, ...]:
    query, key, value, window = _made(2, 9, 3, 5, window=4)(g)
    return query.transpose(1, 2), key.transpose(1, 2), strided(value.transpose(1, 2)), window


def _long(length: int, g: torch.Generator) -> tuple[Any, ...]:
    return _made(1, 1, length, 8, window=16, dtype=torch.float32)(g)


# So long that runs of 512 queries, too, are seen to grow no faster than the length.
_SIZES = (384, 1536)

EXERCISE = Exercise(
    name="sliding_window_attention",
    chapter=8,
    signature="sliding_window_attention(query, key, value, window)",
    asks="Attend to the last `window` keys, the own one among them, at a cost linear in length.",
    reference=sliding_window_attention,
    minutes=25,
    difficulty=4,
    importance=5,
    cases=(
        Case("length 7, window 3", _made(2, 3, 7, 5, window=3), gradient="equal"),
        Case("length 11, window 4", _made(3, 2, 11, 6, window=4)),
        Case("length 6, window 2: whole blocks", _made(2, 3, 6, 4, window=2)),
        Case("window 1: only the own key", _made(2, 3, 5, 4, window=1)),
        Case("window 5 for length 5: plainly causal", _made(2, 3, 5, 4, window=5)),
        Case("window 9 for length 5", _made(2, 4, 5, 3, window=9), gradient="equal"),
        Case("window 6 for length 7", _made(2, 4, 7, 3, window=6)),
        Case("4 everywhere: all fits any way round", _made(4, 4, 4, 4, window=2)),
        Case("length 1", _made(2, 3, 1, 4, window=3)),
        Case("scores of thousands", _made(2, 3, 8, 9, window=3, size=60.0)),
        Case("hidden keys with by far the best scores", _against_the_window),
        Case("length 150, window 5", _made(1, 2, 150, 3, window=5)),
        Case("length 131, window 64", _made(1, 2, 131, 3, window=64)),
        Case("length 140, window 90", _made(2, 1, 140, 3, window=90)),
        Case("inputs that do not lie in memory row by row", _strided),
        Case("float32", _made(2, 3, 9, 16, window=4, dtype=torch.float32), tolerance=1e-4),
        Case("bfloat16", _made(2, 3, 9, 4, window=4, dtype=torch.bfloat16)),
    ),
    misconceptions=MISCONCEPTIONS,
    properties=(IS_AVERAGE,),
    costs=(
        Cost("the largest tensor", largest_tensor, _SIZES, _long, 1.3, DENSE.says, DENSE),
        Cost("the work", work, _SIZES, _long, 1.3, DENSE.says, DENSE),
    ),
    hints=(
        "Which keys does query 10 need with window 4, and which do queries 10 to 13 need together? "
        "How many are those, and does it depend on L?",
        "Walk over the sequence in runs of queries. A run of r queries needs the keys of the run "
        "itself and the window - 1 before it: slice these, and nothing else.",
        "Inside a run every query still has its own window: a small mask of r × (r + window - 1) "
        "hides what is too far back and what lies in the future.",
        "The first run has fewer keys before it, and the last one may be short. Let "
        "`max(0, start - window + 1)` and `min(start + r, L)` say where the slices begin and end, "
        "and make the mask from the places themselves.",
    ),
)
