"""Tensors as a cache holds them, and what goes wrong with what is read from one."""

import torch
from torch import Tensor

from course_utils.checking.inputs import normal
from course_utils.checking.mistakes import Mistake, mistake


def slots(
    generator: torch.Generator,
    shape: tuple[int, int, int, int],
    length: int,
    free: float | None = None,
    size: float = 1.0,
    dtype: torch.dtype = torch.float64,
) -> tuple[Tensor, Tensor]:
    """Draw the slots for keys and for values, of which the first `length` are filled.

    Args:
        generator: For the numbers.
        shape: (B, H, S_max, d).
        length: How many slots are filled.
        free: What the others hold; None leaves numbers there, as memory that is used again does.
        size: The standard deviation of the keys.
        dtype: That of both.
    """
    key, value = normal(generator, *shape, size=size, dtype=dtype), normal(generator, *shape, dtype=dtype)
    if free is not None:
        key[:, :, length:] = value[:, :, length:] = free
    return key, value


def tokens_first(tensor: Tensor) -> Tensor:
    """Return the same values laid out in memory by tokens, as a projection that is split into heads leaves them."""
    return tensor.transpose(1, 2).contiguous().transpose(1, 2)


def another_dtype(says: str, name: str) -> Mistake:
    """Return the mistake of handing back `name` in another dtype than it came in."""
    return mistake("another dtype", says, f"return {name}.float()", f"return {name}.double()", f"return {name}.half()")
