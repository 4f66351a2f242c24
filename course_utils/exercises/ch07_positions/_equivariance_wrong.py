"""Tests of equivariance that are wrong, one way each."""

from collections.abc import Callable

import torch
from torch import Tensor

from course_utils.checking.exercise import Function, Misconception

Both = Callable[[Tensor, Tensor], object]


def close(got: Tensor, want: Tensor) -> bool:
    """Compare to rounding, as it should be done."""
    room = torch.finfo(want.dtype).eps ** 0.5 * want.abs().max()
    return got.shape == want.shape and bool(((got - want).abs() <= room).all())


def build(
    before: Callable[[Tensor, Tensor], Tensor] = lambda x, p: x[:, p],
    after: Callable[[Tensor, Tensor], Tensor] = lambda out, p: out[:, p],
    undo: Callable[[Tensor, Tensor], Tensor] = lambda out, p: out,
    same: Both = close,
    order: Callable[[Tensor], Tensor] = lambda p: p,
    batch: Callable[[Tensor], Tensor] = lambda x: x,
) -> Function:
    """Return the test with some of its steps exchanged.

    Args:
        before: What is done to the input of the first call.
        after: What is done to the output of the second.
        undo: What is done to the output of the first.
        same: How the two are compared.
        order: The permutation that is used.
        batch: The sequences that are used.
    """

    def test(layer: Callable[[Tensor], Tensor], x: Tensor, permutation: Tensor) -> bool:
        p, given = order(permutation), batch(x)
        first = undo(layer(before(given, p)), p)
        return bool(same(first, after(layer(given), p)))

    return test


def compared(same: Both) -> Function:
    """Return the test with another comparison."""
    return build(same=same)


def reduced(fold: Callable[[Tensor], Tensor]) -> Function:
    """Return the test that compares something made of the outputs."""
    return build(same=lambda a, b: close(fold(a), fold(b)))


def within(room: float) -> Function:
    """Return the test with so much room for differences."""
    return build(same=lambda a, b: torch.allclose(a, b, rtol=0, atol=room))


def of(name: str, says: str, *versions: Function) -> Misconception:
    """Return a mistake with its versions."""
    return Misconception(name, versions[0], says, also=versions[1:])
