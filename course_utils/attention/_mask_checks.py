"""Checks that the masks share: whole numbers, integer tensors, boolean masks."""

import torch
from torch import Tensor


def check_whole(**numbers: int) -> None:
    """Raise TypeError unless every number is an int (True and False are none)."""
    for name, number in numbers.items():
        if not isinstance(number, int) or isinstance(number, bool):
            raise TypeError(f"{name} must be an int, got {type(number).__name__}")


def check_at_least(least: int, **numbers: int) -> None:
    """Raise unless every number is an int that is not smaller than `least`."""
    check_whole(**numbers)
    for name, number in numbers.items():
        if number < least:
            raise ValueError(f"{name} must be at least {least}, got {number}")


def check_integers(axes: tuple[str, ...], **tensors: Tensor) -> None:
    """Raise unless every tensor holds integers and has the axes that are named."""
    for name, tensor in tensors.items():
        if not isinstance(tensor, Tensor):
            raise TypeError(f"{name} must be a torch.Tensor, got {type(tensor).__name__}")
        if tensor.is_floating_point() or tensor.is_complex() or tensor.dtype == torch.bool:
            raise TypeError(f"{name} must hold integers, got dtype {tensor.dtype}")
        if tensor.dim() != len(axes):
            wanted = ", ".join(axes) + ("," if len(axes) == 1 else "")
            raise ValueError(f"{name} must have the axes ({wanted}), got {tuple(tensor.shape)}")


def check_boolean(**masks: Tensor) -> None:
    """Raise TypeError unless every mask is a boolean tensor."""
    for name, mask in masks.items():
        if not isinstance(mask, Tensor):
            raise TypeError(f"{name} must be a torch.Tensor, got {type(mask).__name__}")
        if mask.dtype != torch.bool:
            raise TypeError(f"{name} must be boolean (True = may attend), got dtype {mask.dtype}")
