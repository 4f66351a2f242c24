"""Laws that attention weights obey, to say what is broken where no mistake is recognised."""

from typing import Any

from torch import Tensor


def row_sums_broken(weights: Tensor, wanted: Tensor) -> str | None:
    """Name the first row whose sum is not what it should be (one number a row)."""
    sums = weights.detach().double().sum(-1)
    wrong = ~((sums - wanted).abs() <= 0.05)
    if not bool(wrong.any()):
        return None
    where = tuple(int(i) for i in wrong.nonzero()[0])
    return f"Row {list(where)} sums to {sums[where].item():.4g}, not to {wanted[where].item():g}."


def weights_negative(args: tuple[Any, ...], weights: Tensor) -> str | None:
    """Name the smallest weight, if it is below zero."""
    low = weights.detach().min().item()
    return f"The smallest weight is {low:.4g}, below zero." if low < 0 else None
