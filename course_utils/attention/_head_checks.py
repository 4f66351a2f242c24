"""Checks that everything with several heads shares."""

import torch
from torch import Tensor

from course_utils.attention._checks import check_float, check_whole


def check_num_heads(num_heads: int, d_model: int) -> None:
    """Raise unless `num_heads` is a positive int that divides the width of the stream."""
    check_whole(num_heads=num_heads)
    if num_heads < 1 or d_model % num_heads:
        raise ValueError(
            f"num_heads must be at least 1 and divide the width {d_model}, got {num_heads}"
        )


def check_keep(keep: Tensor, num_heads: int) -> None:
    """Raise unless `keep` is boolean and has one entry for each head."""
    if not isinstance(keep, Tensor) or keep.dtype != torch.bool:
        got = keep.dtype if isinstance(keep, Tensor) else type(keep).__name__
        raise TypeError(f"keep must be a boolean tensor (True = kept), got {got}")
    if keep.shape != (num_heads,):
        raise ValueError(
            f"keep must have one entry for each of the {num_heads} heads, "
            f"got shape {tuple(keep.shape)}"
        )


def check_streams(**streams: Tensor) -> None:
    """Raise unless every stream is floating and has the axes (B, length, width)."""
    check_float(**streams)
    for name, stream in streams.items():
        if stream.dim() != 3:
            raise ValueError(
                f"{name} must have the axes (B, length, width), got shape {tuple(stream.shape)}"
            )


def check_fed(weight: Tensor, **streams: Tensor) -> None:
    """Raise unless every stream is as wide as the rows of a Linear's weight, and of its dtype."""
    check_streams(**streams)
    for name, stream in streams.items():
        if stream.shape[-1] != weight.shape[1]:
            raise ValueError(
                f"{name} must be {weight.shape[1]} wide, got shape {tuple(stream.shape)}"
            )
        # Autocast mixes dtypes on purpose.
        if stream.dtype != weight.dtype and not torch.is_autocast_enabled(stream.device.type):
            raise TypeError(
                f"{name} must have the module's dtype {weight.dtype}, got {stream.dtype}"
            )


def check_projection(name: str, weight: Tensor, rows: int, columns: int | None = None) -> None:
    """Raise unless the matrix turns width `rows` into width `columns` as x @ weight."""
    check_float(**{name: weight})
    if weight.dim() != 2 or weight.shape[0] != rows:
        raise ValueError(
            f"{name} must have {rows} rows, as wide as what it is applied to, "
            f"got shape {tuple(weight.shape)}"
        )
    if columns is not None and weight.shape[1] != columns:
        raise ValueError(f"{name} must have {columns} columns, got shape {tuple(weight.shape)}")
