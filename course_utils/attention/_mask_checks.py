"""The check of integer tensors that the masks share."""

import torch
from torch import Tensor

from course_utils.attention._checks import check_tensor


def check_integers(axes: tuple[str, ...], **tensors: Tensor) -> None:
    """Raise unless every tensor holds integers and has the axes that are named."""
    for name, tensor in tensors.items():
        check_tensor(**{name: tensor})
        if tensor.is_floating_point() or tensor.is_complex() or tensor.dtype == torch.bool:
            raise TypeError(f"{name} must hold integers, got dtype {tensor.dtype}")
        if tensor.dim() != len(axes):
            wanted = ", ".join(axes) + ("," if len(axes) == 1 else "")
            raise ValueError(f"{name} must have the axes ({wanted}), got {tuple(tensor.shape)}")
