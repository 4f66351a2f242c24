"""Exercise: two partial results made one."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from course_utils.attention.online_softmax import merge_partials
from course_utils.checking.exercise import Case, Exercise
from course_utils.checking.inputs import normal, strided
from course_utils.exercises.ch09_flash._merge_mistakes import MISCONCEPTIONS

Make = Callable[[torch.Generator], tuple[Tensor, ...]]


def _made(
    *leading: int,
    sizes: tuple[int, int],
    near: tuple[float, float] = (0.0, 0.0),
    empty: tuple[tuple[int, ...], tuple[int, ...]] = ((), ()),
    filled: float = 0.0,
    dtype: str = "float64",
) -> Make:
    """Make two parts of the sizes (L, d_v).

    Args:
        leading: The leading axes.
        sizes: How many queries there are, and the width of a value.
        near: About how large the logsumexp of either part is.
        empty: The rows in which either part saw no key.
        filled: What the output holds there.
        dtype: The type of all tensors.
    """
    kind = getattr(torch, dtype)

    def make(g: torch.Generator) -> tuple[Tensor, ...]:
        parts: list[Tensor] = []
        for middle, rows in zip(near, empty, strict=True):
            out = normal(g, *leading, *sizes, dtype=kind)
            lse = normal(g, *leading, sizes[0], dtype=kind) + middle
            out[..., list(rows), :] = filled
            lse[..., list(rows)] = -torch.inf
            parts += [out, lse]
        return tuple(parts)

    return make


def _strided(g: torch.Generator) -> tuple[Tensor, ...]:
    out_a, lse_a, out_b, lse_b = _made(2, 3, sizes=(5, 4))(g)
    return strided(out_a), strided(lse_a), strided(out_b), lse_b


def _rows_apart(g: torch.Generator) -> tuple[Tensor, ...]:
    out_a, lse_a, out_b, lse_b = _made(2, sizes=(4, 3))(g)
    rows = 1000.0 * torch.arange(4)
    return out_a, lse_a + rows, out_b, lse_b + rows


def _three(merge: Callable[..., Any], *args: Tensor) -> Any:
    """Merge with nothing first, and with the same part again at the end."""
    out, lse = torch.zeros_like(args[0]), torch.full_like(args[1], -torch.inf)
    for part in (args[:2], args[2:], args[:2]):
        out, lse = merge(out, lse, *part)
    return out, lse


EXERCISE = Exercise(
    name="merge_partials",
    chapter=9,
    signature="merge_partials(out_a, lse_a, out_b, lse_b)",
    asks="Make one attention output of two that saw different keys.",
    reference=merge_partials,
    minutes=12,
    difficulty=3,
    importance=4,
    parts=("out", "lse"),
    cases=(
        Case("3 queries, values of width 4", _made(sizes=(3, 4)), gradient="equal"),
        Case("leading axes (2, 3)", _made(2, 3, sizes=(5, 6)), gradient="equal"),
        Case("the second part weighs more", _made(2, sizes=(4, 3), near=(0.0, 3.0))),
        Case("4 everywhere", _made(4, sizes=(4, 4))),
        Case("values of width 1", _made(2, sizes=(5, 1))),
        Case("one query", _made(3, sizes=(1, 4))),
        Case("logsumexps 60 apart", _made(2, sizes=(4, 5), near=(0.0, 60.0))),
        Case("logsumexps near 2,000", _made(2, sizes=(5, 3), near=(2000.0, 2001.0))),
        Case("logsumexps near -2,000", _made(2, sizes=(5, 3), near=(-2000.0, -2000.5))),
        Case("logsumexps of 2,000 and -2,000", _made(2, sizes=(3, 5), near=(2000.0, -2000.0))),
        Case("logsumexps of -2,000 and 2,000", _made(2, sizes=(3, 5), near=(-2000.0, 2000.0))),
        Case("logsumexps that differ by 1,000 from row to row", _rows_apart),
        Case(
            "rows in which one part saw no key and gives zeros",
            _made(2, sizes=(5, 4), empty=((0, 3), (1,))),
            gradient="equal",
        ),
        Case(
            "rows in which one part saw no key and gives NaN",
            _made(2, sizes=(5, 4), empty=((0, 3), (1,)), filled=torch.nan),
        ),
        Case(
            "rows in which one part saw no key and gives numbers",
            _made(2, sizes=(5, 4), empty=((4,), (0, 2)), filled=1e6),
        ),
        Case(
            "rows in which one part saw no key and gives infinity",
            _made(sizes=(4, 3), empty=((1,), (3,)), filled=torch.inf),
        ),
        Case(
            "rows in which neither saw a key",
            _made(2, sizes=(5, 4), empty=((0, 2), (2, 3))),
        ),
        Case(
            "rows in which neither saw a key and both give NaN",
            _made(sizes=(4, 3), empty=((0, 2), (2, 3)), filled=torch.nan),
        ),
        Case(
            "rows in which neither saw a key and both give numbers",
            _made(sizes=(4, 3), empty=((0, 1), (1, 3)), filled=7.0),
        ),
        Case("inputs that do not lie in memory row by row", _strided),
        Case("three merges in a row, from nothing", _made(2, sizes=(4, 3)), run=_three),
        Case("float32", _made(2, sizes=(5, 6), dtype="float32"), tolerance=1e-4),
        Case("bfloat16", _made(2, sizes=(5, 4), near=(0.0, 1.0), dtype="bfloat16")),
    ),
    misconceptions=MISCONCEPTIONS,
    hints=(
        "exp(lse) is the sum of the exponentials that a part saw. Which share of all of them is "
        "part a's, and which is part b's?",
        "The two outputs are averages; the whole is the average of both, weighted by these shares, "
        "one a row. The two sums add up, and the logarithm of that is the new lse.",
        "exp(2000) is infinite, but only differences count: measure both against the larger lse.",
        "0 · NaN is NaN: what an empty part holds has to be replaced before it is multiplied. "
        "Where both are empty there is nothing to divide by: what may stand there instead?",
    ),
)
