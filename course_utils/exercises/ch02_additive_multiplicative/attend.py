"""Exercise: weights over the real keys, and the context that they make."""

from typing import Any

import torch
from torch import Tensor

from course_utils.attention import attend
from course_utils.checking.exercise import Case, Exercise, Property
from course_utils.checking.inputs import normal, strided, visible
from course_utils.checking.laws import row_sums_broken
from course_utils.exercises.ch02_additive_multiplicative._attend_mistakes import MISCONCEPTIONS


def _made(
    batch: int,
    queries: int,
    keys: int,
    d_v: int,
    lengths: tuple[int, ...] = (),
    holes: bool = False,
    size: float = 1.0,
    dtype: str = "float64",
) -> Any:
    """Return a maker of scores, value and key_mask; without lengths and holes all keys are real."""

    def make(g: torch.Generator) -> tuple[Any, ...]:
        kind = getattr(torch, dtype)
        scores = normal(g, batch, queries, keys, size=size, dtype=kind)
        value = normal(g, batch, keys, d_v, dtype=kind)
        mask = torch.ones(batch, keys, dtype=torch.bool)
        if lengths:
            mask = torch.arange(keys) < torch.tensor(lengths).unsqueeze(-1)
        return scores, value, visible(g, batch, keys) if holes else mask

    return make


def _best_is_hidden(g: torch.Generator) -> tuple[Any, ...]:
    """Make scores of about -20,000 where a key is real and +20,000 where it is padding."""
    scores, value, mask = _made(2, 3, 5, 4, holes=True)(g)
    return scores + torch.where(mask, -2e4, 2e4).unsqueeze(1), value, mask


def _empty(g: torch.Generator) -> tuple[Any, ...]:
    scores, value, mask = _made(3, 4, 6, 2, holes=True)(g)
    mask[1] = False
    return scores, value, mask


def _strided(g: torch.Generator) -> tuple[Any, ...]:
    scores, value, mask = _made(2, 4, 6, 5, holes=True)(g)
    return strided(scores), strided(value), strided(mask)


def _rows_sum(args: tuple[Any, ...], out: Any) -> str | None:
    weights = out[1]
    real = args[2].any(-1, keepdim=True).expand(weights.shape[:-1])
    return row_sums_broken(weights, real.double())


def _padding_weighs(args: tuple[Any, ...], out: Any) -> str | None:
    weights: Tensor = out[1].detach()
    heavy = (weights.ne(0) & ~args[2].unsqueeze(1)).nonzero()
    if not len(heavy):
        return None
    where = tuple(int(i) for i in heavy[0])
    return f"The weight at index {list(where)} is {weights[where].item():.4g}, on a key of padding."


EXERCISE = Exercise(
    name="attend",
    chapter=2,
    signature="attend(scores, value, key_mask)",
    asks="Turn scores into weights over the real keys, and average the values with them.",
    reference=attend,
    minutes=12,
    difficulty=3,
    importance=5,
    parts=("context", "weights"),
    cases=(
        # All sizes equal: a mistake with axes gives numbers here, and can be named by them.
        Case("3 queries, 3 keys, all real, values of width 3", _made(3, 3, 3, 3), gradient="equal"),
        Case("the same with padding", _made(3, 3, 3, 3, (2, 3, 1)), gradient="equal"),
        Case("2 queries, 5 keys, lengths 3, 5, 4", _made(3, 2, 5, 4, (3, 5, 4)), gradient="equal"),
        Case("padding anywhere in the row", _made(2, 4, 7, 3, holes=True)),
        Case("padding with by far the best scores", _best_is_hidden, gradient="equal"),
        Case("scores of thousands", _made(2, 3, 4, 5, (4, 2), size=3000.0)),
        Case("a sequence without any real key", _empty, gradient="equal"),
        Case(
            "nothing but such a sequence",
            lambda g: (*_made(1, 2, 3, 4)(g)[:2], torch.zeros(1, 3) > 0),
        ),
        Case("one query, one sequence", _made(1, 1, 4, 3, (3,))),
        Case("one key, values of width 1", _made(2, 3, 1, 1)),
        Case("inputs that do not lie in memory row by row", _strided),
        Case("float32", _made(2, 3, 6, 5, holes=True, dtype="float32")),
        Case("bfloat16", _made(2, 4, 5, 3, holes=True, dtype="bfloat16")),
    ),
    misconceptions=MISCONCEPTIONS,
    properties=(
        Property("padding gets no weight", _padding_weighs),
        Property("each row sums to 1, one without real keys to 0", _rows_sum),
    ),
    hints=(
        "Three steps: hide the padding, softmax, average. What score must a hidden key have so "
        "that its weight is exactly 0?",
        "The mask is (B, S), the scores are (B, L, S). Where does the mask need a new axis, so "
        "that it says the same to every query of its sequence?",
        "`masked_fill` writes where its mask is True, but True here means a real token. And a row "
        "without any: what does a softmax make of nothing but -inf?",
        "Give such a row finite scores before the softmax and zeros after it, or use the stable "
        "softmax of `course_utils.attention`. The context is the weights times the values.",
    ),
)
