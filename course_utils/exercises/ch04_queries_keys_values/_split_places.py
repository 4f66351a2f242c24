"""Where a number of a split came from: the fused tensor's numbers are all different."""

from typing import Any

import torch
from torch import Tensor


def sources(qkv: Tensor, part: Tensor) -> tuple[Tensor, Tensor, Tensor] | None:
    """Return the sequence, position and feature of `qkv` that each number of `part` is.

    None where some number is none of them, or where two of them are the same number.
    """
    numbers, order = qkv.detach().flatten().sort()
    if numbers.unique().numel() < numbers.numel():
        return None
    place = torch.searchsorted(numbers, part.detach().contiguous()).clamp(max=len(numbers) - 1)
    if not bool((numbers[place] == part.detach()).all()):
        return None
    index = order[place]
    features = index % qkv.shape[2]
    positions = index // qkv.shape[2] % qkv.shape[1]
    return index // qkv.shape[2] // qkv.shape[1], positions, features


def _all_sources(args: tuple[Any, ...], got: Any) -> list[tuple[Tensor, Tensor, Tensor]]:
    found = [sources(args[0], part) for part in got]
    return [places for places in found if places is not None] if None not in found else []


def _axis(size: int, axis: int) -> Tensor:
    shape = [1, 1, 1, 1]
    shape[axis] = size
    return torch.arange(size).view(shape)


def sequences_mixed(args: tuple[Any, ...], got: Any) -> bool:
    """Say whether some number belongs to another sequence."""
    own = _axis(args[0].shape[0], 0)
    return any(bool((batch != own).any()) for batch, _, _ in _all_sources(args, got))


def positions_mixed(args: tuple[Any, ...], got: Any) -> bool:
    """Say whether some number belongs to another position."""
    own = _axis(args[0].shape[1], 2)
    return any(bool((position != own).any()) for _, position, _ in _all_sources(args, got))


def thirds_mixed(args: tuple[Any, ...], got: Any) -> bool:
    """Say whether some number belongs to another third."""
    width = args[0].shape[-1] // 3
    places = _all_sources(args, got)
    return any(bool((f // width != third).any()) for third, (_, _, f) in enumerate(places))


def thirds_exchanged(args: tuple[Any, ...], got: Any) -> bool:
    """Say whether each result is one whole third, rightly cut, but not each its own."""
    width, num_heads = args[0].shape[-1] // 3, args[1]
    d_k = width // num_heads
    own = _axis(num_heads, 1) * d_k + _axis(d_k, 3)
    places = _all_sources(args, got)
    cut = all(
        bool((f % width == own).all()) and f.numel() and (f // width).unique().numel() == 1
        for _, _, f in places
    )
    return bool(places) and cut and thirds_mixed(args, got)


def heads_mixed(args: tuple[Any, ...], got: Any) -> bool:
    """Say whether some number belongs to another head of its third."""
    width, num_heads = args[0].shape[-1] // 3, args[1]
    own = _axis(num_heads, 1)
    places = _all_sources(args, got)
    return any(bool((f % width // (width // num_heads) != own).any()) for _, _, f in places)


def heads_exchanged(args: tuple[Any, ...], got: Any) -> bool:
    """Say whether each head is a whole one of its own third, but some not in its place."""
    d_k = args[0].shape[-1] // 3 // args[1]
    places = _all_sources(args, got)
    whole = all(bool((f // d_k == f[..., :1] // d_k).all()) for _, _, f in places)
    return d_k > 1 and whole and heads_mixed(args, got)


def features_mixed(args: tuple[Any, ...], got: Any) -> bool:
    """Say whether some number has another place within its head."""
    d_k = args[0].shape[-1] // 3 // args[1]
    own = _axis(d_k, 3)
    return any(bool((f % d_k != own).any()) for _, _, f in _all_sources(args, got))


def numbers_changed(args: tuple[Any, ...], got: Any) -> bool:
    """Say whether some result holds numbers that the fused tensor does not."""
    return args[0].dtype == torch.float64 and not _all_sources(args, got)
