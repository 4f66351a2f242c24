"""Laws that attention weights obey, to say what is broken where no mistake is recognised."""

from typing import Any

from torch import Tensor


def row_sums_broken(weights: Tensor, wanted: Tensor) -> str | None:
    """Name the first row whose sum is not what it should be (one number per row)."""
    sums = weights.detach().double().sum(-1)
    wrong = ~((sums - wanted).abs() <= 0.05)
    if not bool(wrong.any()):
        return None
    where = tuple(int(i) for i in wrong.nonzero()[0])
    row = f"Row {list(where)}" if where else "The row"
    if bool(sums[where].isnan()):
        return f"{row} holds NaN; it should sum to {wanted[where].item():g}."
    return f"{row} sums to {sums[where].item():.4g}, not to {wanted[where].item():g}."


def weights_negative(args: tuple[Any, ...], weights: Tensor) -> str | None:
    """Name the smallest weight, if it is below zero."""
    low = weights.detach().min().item()
    return f"The smallest weight is {low:.4g}, below zero." if low < 0 else None


def monotone(given: Tensor, made: Tensor) -> bool:
    """Return whether `made` is a non-decreasing function of `given`, entry by entry."""
    if given.shape != made.shape or given.numel() < 3 or not bool(made.isfinite().all()):
        return False
    order = given.detach().flatten().argsort()
    steps = made.detach().double().flatten()[order].diff()
    size = made.detach().abs().max().item()
    return bool((steps >= -1e-9 * size).all()) and bool((steps > 1e-9 * size).any())


def is_other(got: Tensor, right: Tensor) -> bool:
    """Return whether a result of the right kind differs in most places by more than rounding."""
    if got.shape != right.shape or got.dtype != right.dtype:
        return False
    room = 1e-3 * right.detach().abs().max().item()
    return bool(((got - right).detach().abs() > room).double().mean() > 0.5)
