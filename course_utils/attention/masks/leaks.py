"""A test that finds out, from outside, whether an attention reads the future.

Source: its definition: output i is causal if it is the same for all inputs that agree up to i
Ours / theirs: attention = any function of one sequence; position i's future is i + 1 and later
Differs: changes that are only rounding count as none.
Same contract as: a causal layer's outputs for a prefix stay what they were when the text goes on
"""

from collections.abc import Callable
from itertools import product

import torch
from jaxtyping import Float
from torch import Tensor

from course_utils.validation import check_at_least, check_callable

_SIZES = (1.0, 10.0, 100.0)  # a leak with a small factor shows when what leaks changes a lot
_OVERFLOWS = 100.0  # where exponentials may become inf, and a hidden inf times 0 is NaN
_TRIES = 2  # a leak past a threshold shows in some inputs only
_ROUNDING = 16 * torch.finfo(torch.float32).eps

Attention = Callable[[Float[Tensor, "1 L d_model"]], Float[Tensor, "1 L d_v"]]


def leaks_future(attention: Attention, num_positions: int, d_model: int) -> bool:
    """Return whether any output depends on the input at any later position.

    Args:
        attention: Takes float32 (1, num_positions, d_model), gives (1, num_positions, d_v), and the
            same for the same input. It need not be differentiable.
        num_positions: How long the sequence is.
        d_model: How wide each position is.

    Raises:
        ValueError: The output does not have one row for each position.
    """
    check_callable(attention=attention)
    check_at_least(1, num_positions=num_positions, d_model=d_model)
    generator = torch.Generator().manual_seed(0)
    for _ in range(_TRIES):
        x = torch.randn(1, num_positions, d_model, generator=generator, dtype=torch.float32)
        out = _output(attention, x)
        for size, start in product(_SIZES, range(1, num_positions)):
            noise = torch.randn(x.shape, generator=generator, dtype=torch.float32)
            noise[:, :start] = 0.0
            past, changed = out[:, :start], _output(attention, x + size * noise)[:, :start]
            if size >= _OVERFLOWS:
                changed = torch.where(changed.isfinite(), changed, past)
            if _differs(past, changed):
                return True
    return False


def _output(attention: Attention, x: Tensor) -> Tensor:
    # A clone goes in and one is kept: the attention may write to its input or return a view of it.
    with torch.no_grad():
        out = attention(x.clone())
    if not isinstance(out, Tensor):
        raise TypeError(f"attention must return a torch.Tensor, got {type(out).__name__}")
    if out.dim() != 3 or out.shape[:2] != x.shape[:2]:
        raise ValueError(f"attention must return (1, {x.shape[1]}, d_v), got {tuple(out.shape)}")
    return out.clone()


def _differs(one: Tensor, other: Tensor) -> bool:
    """Return whether any row changed by more than rounding, measured against that row's size."""
    size = one.abs().nan_to_num(nan=0.0, posinf=0.0)
    room = _ROUNDING * size.amax(dim=-1, keepdim=True) if one.shape[-1] else size
    same = ((one - other).abs() <= room) | (one == other) | (one.isnan() & other.isnan())
    return not bool(same.all())
