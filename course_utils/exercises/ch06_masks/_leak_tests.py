"""A leak test in steps that can be exchanged: a mistake exchanges one of them."""

from collections.abc import Callable, Iterable

import torch
from torch import Tensor

from course_utils.checking.exercise import Function
from course_utils.exercises.ch06_masks._attentions import Attention


def noise(n: int, d: int, seed: int = 0) -> Tensor:
    """Return the input (1, n, d) to start from, as it should be: random, the same each time."""
    return torch.randn(1, n, d, generator=torch.Generator().manual_seed(seed), dtype=torch.float32)


def later(x: Tensor, start: int, by: float = 1.0) -> Tensor:
    """Return a copy in which all positions from `start` on are changed."""
    changed = x.clone()
    changed[:, start:] += by * noise(x.shape[1], x.shape[2], seed=1)[:, start:]
    return changed


def one(x: Tensor, start: int, by: float = 1.0) -> Tensor:
    """Return a copy in which one position is changed."""
    changed = x.clone()
    changed[:, start] += by
    return changed


def before(out: Tensor, start: int) -> Tensor:
    """Return the outputs that may not move."""
    return out[:, :start]


def all_starts(n: int) -> Iterable[int]:
    """Return every position that is later than another."""
    return range(1, n)


def exactly(one: Tensor, other: Tensor) -> bool:
    """Say whether any entry differs."""
    return not torch.equal(one, other)


def by_more_than(tolerance: float) -> Callable[[Tensor, Tensor], bool]:
    """Return a comparison that forgives differences up to a tolerance."""
    return lambda one, other: bool(((one - other).abs() > tolerance).any())


def build(
    base: Callable[[int, int], Tensor] = noise,
    change: Callable[[Tensor, int], Tensor] = later,
    starts: Callable[[int], Iterable[int]] = all_starts,
    look: Callable[[Tensor, int], Tensor] = before,
    differs: Callable[[Tensor, Tensor], bool] = exactly,
    decide: Callable[[Iterable[bool]], bool] = any,
) -> Function:
    """Return a leak test with some of its steps exchanged.

    Args:
        base: The input to start from.
        change: Makes the other input, given where the change starts.
        starts: Where changes start, given the number of positions.
        look: The part of an output that is compared, given where the change starts.
        differs: Compares two such parts.
        decide: What makes one answer of all comparisons, which are made one after the other.
    """

    def test(attention: Attention, num_positions: int, d_model: int) -> bool:
        x = base(num_positions, d_model)
        out = attention(x)
        return decide(
            differs(look(out, start), look(attention(change(x, start)), start))
            for start in starts(num_positions)
        )

    return test


def answer(value: bool) -> Function:
    """Return a test that always gives the same answer, without a look."""
    return lambda attention, num_positions, d_model: value


def by_gradient(attention: Attention, num_positions: int, d_model: int) -> bool:
    """Ask the gradient of each output which inputs it depends on."""
    x = noise(num_positions, d_model).requires_grad_()
    for i in range(num_positions - 1):
        (grad,) = torch.autograd.grad(attention(x)[:, i].sum(), x)
        if grad[:, i + 1 :].any():
            return True
    return False


def by_jacobian(attention: Attention, num_positions: int, d_model: int) -> bool:
    """Do the same for all outputs at once."""
    x = noise(num_positions, d_model)
    jacobian = torch.autograd.functional.jacobian(attention, x)[0, :, :, 0]
    size = jacobian.abs().sum((1, 3))
    return bool(size.triu(1).any())


def unrestored(attention: Attention, num_positions: int, d_model: int) -> bool:
    """Change one position after the other and never put any back."""
    x = noise(num_positions, d_model)
    out, changed = attention(x), x.clone()
    for start in range(1, num_positions):
        changed[:, start] += 1.0
        if exactly(out[:, :start], attention(changed)[:, :start]):
            return True
    return False


def unrestored_noise(attention: Attention, num_positions: int, d_model: int) -> bool:
    """Write each change into the input itself and compare with the first output."""
    x = noise(num_positions, d_model)
    out = attention(x)
    for start in range(1, num_positions):
        x[:, start:] = noise(num_positions, d_model, seed=start)[:, start:]
        if exactly(out[:, :start], attention(x)[:, :start]):
            return True
    return False


def shared_memory(attention: Attention, num_positions: int, d_model: int) -> bool:
    """Change the input itself, under another name."""
    x = noise(num_positions, d_model)
    for start in range(1, num_positions):
        changed = x
        changed[:, start:] += 1.0
        if exactly(attention(x)[:, :start], attention(changed)[:, :start]):
            return True
    return False


def called_with(make: Callable[[Tensor, int], Tensor]) -> Function:
    """Return a test that compares with what the attention makes of another kind of input."""

    def test(attention: Attention, num_positions: int, d_model: int) -> bool:
        x = noise(num_positions, d_model)
        out = attention(x)
        for start in range(1, num_positions):
            if exactly(out[0, :start], attention(make(x, start))[0, :start]):
                return True
        return False

    return test


def features(attention: Attention, num_positions: int, d_model: int) -> bool:
    """Take the axis of the features for that of the positions."""
    x = noise(num_positions, d_model)
    out = attention(x)
    for start in range(1, d_model):
        changed = x.clone()
        changed[:, :, start:] += 1.0
        if exactly(out[:, :, :start], attention(changed)[:, :, :start]):
            return True
    return False


def of_inputs(attention: Attention, num_positions: int, d_model: int) -> bool:
    """Compare what went in instead of what came out."""
    x = noise(num_positions, d_model)
    for start in range(1, num_positions):
        changed = later(x, start)
        attention(x), attention(changed)
        if exactly(x[:, :start], changed[:, :start]):
            return True
    return False
