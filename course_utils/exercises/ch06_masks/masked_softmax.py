"""Exercise: softmax over what a mask allows."""

from typing import Any

import torch
from torch import Tensor

from course_utils.attention import masked_softmax
from course_utils.checking.exercise import Case, Exercise, Property
from course_utils.checking.inputs import normal, strided, visible
from course_utils.checking.laws import row_sums_broken
from course_utils.exercises.ch06_masks._softmax_mask_mistakes import MASK
from course_utils.exercises.ch06_masks._softmax_row_mistakes import ROWS
from course_utils.exercises.ch06_masks._softmax_share_mistakes import SHARES


def _made(*scores: int, mask: tuple[int, ...], size: float = 1.0, dtype: str = "float64") -> Any:
    """Return a maker of scores and of a mask in which every row sees some keys and not others."""
    kind = getattr(torch, dtype)
    return lambda g: (normal(g, *scores, size=size, dtype=kind), visible(g, *mask))


def _against_the_mask(low: float, high: float, dtype: str = "float64") -> Any:
    """Return a maker of low scores where the mask allows and high ones where it forbids."""

    def make(g: torch.Generator) -> tuple[Tensor, Tensor]:
        scores, mask = _made(2, 4, 6, mask=(4, 6))(g)
        scores = torch.where(mask, scores + low, scores + high)
        return scores.to(getattr(torch, dtype)), mask

    return make


def _empty_rows(dtype: str = "float64") -> Any:
    def make(g: torch.Generator) -> tuple[Tensor, Tensor]:
        scores, mask = _made(2, 3, 5, 4, mask=(2, 1, 5, 4), dtype=dtype)(g)
        mask[1, 0, 2] = False
        mask[0, 0, 4] = False
        return scores, mask

    return make


def _whole_rows(g: torch.Generator) -> tuple[Tensor, Tensor]:
    return normal(g, 2, 5, 3), torch.tensor([[True], [False], [True], [True], [False]])


def _strided(g: torch.Generator) -> tuple[Tensor, Tensor]:
    scores, mask = _made(2, 4, 6, mask=(2, 4, 6))(g)
    return strided(scores), strided(mask)


def _rows_sum(args: tuple[Any, ...], out: Tensor) -> str | None:
    seen = args[1].expand(out.shape).any(-1)
    return row_sums_broken(out, seen.double())


def _hidden_weighs(args: tuple[Any, ...], out: Tensor) -> str | None:
    heavy = (out.detach().ne(0) & ~args[1]).nonzero()
    if not len(heavy):
        return None
    where = tuple(int(i) for i in heavy[0])
    return f"The weight at index {list(where)} is {out[where].item():.4g}, at a hidden key."


EXERCISE = Exercise(
    name="masked_softmax",
    chapter=6,
    signature="masked_softmax(scores, attn_mask)",
    asks="Turn each row of scores into weights over the keys that the mask allows.",
    reference=masked_softmax,
    minutes=12,
    difficulty=3,
    importance=5,
    cases=(
        Case("3 queries, 3 keys", _made(3, 3, mask=(3, 3)), gradient="equal"),
        Case("2 queries, 5 keys, no leading axis", _made(2, 5, mask=(2, 5)), gradient="equal"),
        Case("a mask of shape (5, 7) for all", _made(2, 3, 5, 7, mask=(5, 7)), gradient="equal"),
        Case("a mask for each sequence, (2, 1, 1, 7)", _made(2, 3, 5, 7, mask=(2, 1, 1, 7))),
        Case("a mask for each head, (3, 4, 6)", _made(2, 3, 4, 6, mask=(3, 4, 6))),
        Case("as many heads as sequences, (3, 4, 5)", _made(3, 3, 4, 5, mask=(3, 4, 5))),
        Case("the same, a mask a sequence: (3, 1, 4, 5)", _made(3, 3, 4, 5, mask=(3, 1, 4, 5))),
        Case("a mask for each table, (2, 3, 5, 4)", _made(2, 3, 5, 4, mask=(2, 3, 5, 4))),
        Case("scores of ten thousand", _made(2, 4, 6, mask=(4, 6), size=1e4)),
        Case("hidden keys with by far the best scores", _against_the_mask(-1e7, 1e7)),
        Case("a query that may see nothing", _empty_rows(), gradient="equal"),
        Case("nobody may see anything", lambda g: (normal(g, 2, 3), torch.zeros(2, 3) > 0)),
        Case("a mask of shape (5, 1): whole rows", _whole_rows, gradient="finite"),
        Case("hidden scores of 1e30", _against_the_mask(0.0, 1e30)),
        Case("nothing hidden", lambda g: (normal(g, 2, 3, 4), torch.ones(3, 4) > 0)),
        Case("inputs that do not lie in memory row by row", _strided),
        Case("one query", _made(2, 1, 6, mask=(1, 6))),
        Case("one key, hidden from some", lambda g: (normal(g, 3, 1), normal(g, 3, 1) > 0)),
        Case("float32", _made(2, 3, 5, mask=(3, 5), dtype="float32")),
        Case("float16", _made(2, 3, 5, mask=(3, 5), dtype="float16")),
        Case("float16, scores of ten thousand", _against_the_mask(-1e4, 1e4, "float16")),
        Case("float16, a query that may see nothing", _empty_rows("float16")),
        Case("bfloat16, a query that may see nothing", _empty_rows("bfloat16")),
    ),
    misconceptions=(*MASK, *ROWS, *SHARES),
    properties=(
        Property("a hidden key gets no weight", _hidden_weighs),
        Property("each row sums to 1, one that may see nothing to 0", _rows_sum),
    ),
    hints=(
        "Hidden keys have to be gone before the softmax divides. Which score gives a weight of "
        "exactly 0, whatever the dtype?",
        "`masked_fill` writes where its mask is True; `attn_mask` is True where the query MAY "
        "attend. Without an underscore at its end it makes a new tensor.",
        "Now the rows that may see nothing: nothing but -inf goes in, and NaN comes out, forwards "
        "and backwards. Which rows are they, and what could stand there instead before the "
        "softmax?",
        "Let such rows hold any finite numbers when they reach the softmax, and set their weights "
        "to 0 after it. Both times the same mask of rows says where.",
    ),
)
