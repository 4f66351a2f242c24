"""Inputs for the exercises on RoPE, and the laws that a rotation obeys."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from course_utils.checking.exercise import Case
from course_utils.checking.inputs import normal
from course_utils.exercises.ch07_positions._rope_wrong import pair_angles

# Frequencies made in float32 are as right as others: at position p they are off by 1e-7 p.
ROUNDING = 1e-4


def made(*shape: int, at: Any, base: float | None = None, dtype: str = "float64") -> Any:
    """Return a maker of x and positions, and a base if one is given."""

    def make(g: torch.Generator) -> tuple[Any, ...]:
        x = normal(g, *shape, dtype=getattr(torch, dtype))
        args = (x, torch.tensor(at))
        return args if base is None else (*args, base)

    return make


def _split_from_a_stream(g: torch.Generator) -> tuple[Any, ...]:
    """Lay x out as `split_heads` does: the heads of a token side by side."""
    x, positions = made(2, 5, 3, 6, at=[[4, 5, 6, 7, 8], [0, 9, 1, 8, 2]])(g)
    return x.transpose(1, 2), positions


def _case(name: str, make: Callable[[torch.Generator], Any], gradient: str = "") -> Case:
    return Case(name, make, gradient=gradient, tolerance=ROUNDING)


CASES = (
    _case("one head of width 2 at positions 0, 1, 2, 3", made(1, 1, 4, 2, at=[0, 1, 2, 3])),
    _case("one head of width 4 at positions 0, 1, 2", made(1, 1, 3, 4, at=[0, 1, 2])),
    # Gradients in float32, where frequencies made in float32 differ by no more than rounding.
    _case(
        "two sequences, three heads",
        made(2, 3, 5, 6, at=[0, 1, 2, 3, 4], dtype="float32"),
        gradient="equal",
    ),
    _case("positions 7 to 10: the middle of a sequence", made(2, 3, 4, 8, at=[7, 8, 9, 10])),
    _case("positions out of order", made(1, 2, 5, 6, at=[12, 0, 5, 5, 3])),
    _case(
        "positions of shape (2, 4), one row for each sequence",
        made(2, 3, 4, 6, at=[[0, 1, 2, 3], [5, 6, 4, 2]], dtype="float32"),
        gradient="equal",
    ),
    _case(
        "as many sequences as heads",
        made(3, 3, 4, 6, at=[[0, 1, 2, 3], [4, 5, 6, 7], [2, 4, 9, 1]]),
    ),
    _case(
        "as many sequences as heads and as tokens",
        made(3, 3, 3, 4, at=[[0, 1, 2], [7, 5, 3], [4, 8, 6]]),
    ),
    _case("as many sequences as tokens", made(4, 2, 4, 6, at=[3, 1, 4, 2])),
    _case("real positions", made(2, 3, 4, 6, at=[0.5, 1.25, 2.75, 7.1])),
    _case(
        "real positions for each sequence",
        made(2, 3, 3, 4, at=[[0.25, 0.5, 0.75], [10.5, 3.3, 1.9]]),
    ),
    _case("negative positions", made(1, 2, 4, 6, at=[-3, -2, -1, 0])),
    _case("base=100.0", made(2, 3, 4, 6, at=[0, 2, 4, 6], base=100.0)),
    _case("base=50, a whole number", made(1, 2, 5, 8, at=[1, 2, 3, 4, 5], base=50)),
    _case("one token at position 9: a decoder's step", made(2, 3, 1, 8, at=[9])),
    _case("width 16, positions to 60", made(1, 2, 4, 16, at=[0, 20, 40, 60])),
    _case("one sequence, positions of shape (1, 3)", made(1, 2, 3, 6, at=[[2, 5, 8]])),
    Case("positions in the thousands", made(1, 2, 4, 8, at=[511, 512, 2048, 5000]), tolerance=0.01),
    _case("heads that were split from a stream: other strides", _split_from_a_stream),
    _case(
        "float64 and positions of each sequence", made(2, 3, 4, 8, at=[[0, 3, 6, 9], [1, 0, 8, 4]])
    ),
    Case("bfloat16", made(2, 3, 4, 6, at=[0, 1, 2, 5], dtype="bfloat16")),
)


def length_kept(args: tuple[Any, ...], out: Tensor) -> str | None:
    """Name the first vector that became longer or shorter."""
    before, after = args[0].double().norm(dim=-1), out.detach().double().norm(dim=-1)
    wrong = ~((before - after).abs() <= 0.02 * before)
    if not bool(wrong.any()):
        return None
    where = tuple(int(i) for i in wrong.nonzero()[0])
    return (
        f"The vector at {list(where)} had the length {before[where].item():.4g} and has "
        f"{after[where].item():.4g} now."
    )


def unmoved_at_zero(args: tuple[Any, ...], out: Tensor) -> str | None:
    """Name a token at position 0 that is not what it was."""
    x, positions = args[:2]
    start = positions == 0
    at_zero = start[:, None].expand(x.shape[:3]) if start.dim() == 2 else start.expand(x.shape[:3])
    moved = ((x - out).double().abs().amax(-1) > 0.02) & at_zero
    if not bool(moved.any()):
        return None
    where = tuple(int(i) for i in moved.nonzero()[0])
    return f"The token at {list(where)} stands at position 0 and was changed."


def other_angles(pairing: str) -> Callable[[tuple[Any, ...], Tensor], bool]:
    """Return whether the right pairs are turned, all heads alike, by wrong angles."""

    def fits(args: tuple[Any, ...], got: Tensor) -> bool:
        angles = pair_angles(pairing, args[0], got)
        if angles is None or not bool((angles.abs() > 1e-3).any()):
            return False
        spread = torch.stack((angles.cos(), angles.sin())) - torch.stack(
            (angles[:, :1].cos(), angles[:, :1].sin())
        )
        return bool(spread.abs().max() < 0.02)

    return fits


def other_pairs(pairing: str) -> Callable[[tuple[Any, ...], Tensor], bool]:
    """Return whether every vector keeps its length while the right pairs do not keep theirs."""

    def fits(args: tuple[Any, ...], got: Tensor) -> bool:
        x = args[0]
        if x.shape[-1] < 4 or not bool(got.isfinite().all()) or length_kept(args, got):
            return False
        return pair_angles(pairing, x, got) is None

    return fits
