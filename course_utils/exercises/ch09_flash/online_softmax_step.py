"""Exercise: one step of the online softmax."""

from typing import Any

import torch
from torch import Tensor

from course_utils.attention.online_softmax import online_softmax_step
from course_utils.checking.exercise import Case, Exercise, Function
from course_utils.checking.inputs import normal, strided
from course_utils.exercises.ch09_flash._online_mistakes import MISCONCEPTIONS

Make = Any


def _made(
    *leading: int,
    sizes: tuple[int, int, int],
    before: float | None = 0.0,
    size: float = 1.0,
    dtype: str = "float64",
    empty: tuple[int, ...] = (),
    hidden: float = 0.0,
) -> Make:
    """Make a state and a tile of the sizes (L, T, d_v).

    Args:
        leading: The leading axes.
        sizes: How many queries and keys there are, and the width of a value.
        before: About how large the old maxima are; None starts from nothing.
        size: The standard deviation of the scores.
        dtype: The type of all tensors.
        empty: Rows whose scores are all -inf.
        hidden: The share of scores that are -inf besides.
    """
    length, tile, d_v = sizes
    kind = getattr(torch, dtype)

    def make(g: torch.Generator) -> tuple[Tensor, ...]:
        m = normal(g, *leading, length, dtype=kind) + (-torch.inf if before is None else before)
        l = normal(g, *leading, length, dtype=kind).abs() + 1.0
        acc = normal(g, *leading, length, d_v, dtype=kind)
        if before is None:
            l, acc = torch.zeros_like(l), torch.zeros_like(acc)
        scores = normal(g, *leading, length, tile, size=size, dtype=kind)
        away = torch.rand(scores.shape, generator=g) < hidden
        scores = scores.masked_fill(away, -torch.inf)
        scores[..., list(empty), :] = -torch.inf
        return m, l, acc, scores, normal(g, *leading, tile, d_v, dtype=kind)

    return make


def _strided(g: torch.Generator) -> tuple[Tensor, ...]:
    m, l, acc, scores, value = _made(2, sizes=(3, 5, 4))(g)
    return m, l, strided(acc), strided(scores), strided(value)


def _uneven(g: torch.Generator) -> tuple[Tensor, ...]:
    """Make three tiles of three keys, each with scores far above those before it."""
    m, l, acc, scores, value = _made(2, sizes=(4, 9, 5), before=None)(g)
    return m, l, acc, scores + torch.arange(9).div(3, rounding_mode="floor") * 300.0, value


def _walked(step: Function, *args: Tensor) -> tuple[Tensor, ...]:
    *state, scores, value = args
    for start in range(0, scores.shape[-1], 3):
        near = slice(start, start + 3)
        state = step(*state, scores[..., near], value[..., near, :])
    return tuple(state)


def _walk(step: Function, *args: Tensor) -> Tensor:
    """Walk over the keys in tiles of three; return the output, and the logsumexp beside it."""
    m, l, acc = _walked(step, *args)
    return torch.cat([acc / l.unsqueeze(-1), (m + l.log()).unsqueeze(-1)], dim=-1)


def _walk_past_empty(step: Function, *args: Tensor) -> Tensor:
    """Return the output alone, zeros in a row that saw no key."""
    _, l, acc = _walked(step, *args)
    return acc / l.masked_fill(l == 0.0, 1.0).unsqueeze(-1)


EXERCISE = Exercise(
    name="online_softmax_step",
    chapter=9,
    signature="online_softmax_step(m, l, acc, scores, value)",
    asks="Take one more tile of keys into the running maximum, the running sum and the output.",
    reference=online_softmax_step,
    minutes=15,
    difficulty=3,
    importance=5,
    parts=("m", "l", "acc"),
    cases=(
        Case("the first tile: from (-inf, 0, 0)", _made(sizes=(3, 4, 5), before=None)),
        Case("a later tile with higher scores", _made(sizes=(3, 4, 5), before=-3.0)),
        Case("a later tile with lower scores", _made(sizes=(4, 3, 2), before=3.0)),
        Case("a later tile: some maxima rise, some stay", _made(sizes=(7, 3, 4), before=1.0)),
        Case("leading axes (2, 3)", _made(2, 3, sizes=(5, 4, 6), before=0.5)),
        Case("4 everywhere", _made(4, sizes=(4, 4, 4), before=0.5)),
        Case("a tile of one key", _made(3, sizes=(5, 1, 2))),
        Case("one query", _made(2, 3, sizes=(1, 4, 5))),
        Case("one of everything", _made(1, 1, sizes=(1, 1, 1))),
        Case("some keys hidden", _made(2, sizes=(6, 5, 3), hidden=0.4)),
        Case("a row that sees nothing of this tile", _made(2, sizes=(4, 3, 5), empty=(0, 2))),
        Case(
            "a row that has seen nothing yet",
            _made(2, sizes=(4, 3, 5), before=None, empty=(1,)),
        ),
        Case("a tile that nobody sees", _made(sizes=(3, 4, 2), empty=(0, 1, 2))),
        Case("scores of tens", _made(2, sizes=(5, 6, 3), size=6.0)),
        Case("scores of thousands", _made(2, sizes=(5, 4, 3), size=2000.0)),
        Case("maxima of -3,000 before", _made(2, sizes=(5, 4, 3), before=-3000.0)),
        Case("maxima of 3,000 before", _made(2, sizes=(5, 4, 3), before=3000.0)),
        Case(
            "all scores near -2,000",
            lambda g: (lambda m, l, a, s, v: (m - 2000, l, a, s - 2000, v))(
                *_made(2, sizes=(4, 6, 3))(g)
            ),
        ),
        Case("inputs that do not lie in memory row by row", _strided),
        Case(
            "tiles walked to the end",
            _made(2, sizes=(4, 8, 5), before=None),
            gradient="equal",
            run=_walk,
        ),
        Case("tiles whose scores rise by 300", _uneven, run=_walk),
        Case(
            "tiles walked to the end, with a row that sees nothing",
            _made(2, sizes=(4, 7, 3), before=None, empty=(2,), hidden=0.3),
            gradient="finite",
            run=_walk_past_empty,
        ),
        Case("float32", _made(2, sizes=(5, 7, 6), dtype="float32"), tolerance=1e-4),
        Case("bfloat16", _made(2, sizes=(3, 5, 4), dtype="bfloat16")),
    ),
    misconceptions=MISCONCEPTIONS,
    hints=(
        "Say that l is a sum of exp(score - m) over the keys so far. A new tile brings a higher "
        "maximum: by which factor is each old term wrong now?",
        "The same factor corrects l and acc, since both are sums of the same exponentials. It is "
        "1 where the maximum stays.",
        "The new maximum is the larger of the old one and the tile's. Take the tile's "
        "exponentials against the new one: their sum joins l, their product with the values acc.",
        "A row of -inf whose old maximum is -inf too would subtract an infinity from itself. What "
        "may stand in for that maximum, as long as m itself is returned as it is?",
    ),
)
