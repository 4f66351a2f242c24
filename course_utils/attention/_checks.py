"""Checks of numbers, shapes and dtypes that the references share."""

from numbers import Real

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


def check_number(**numbers: float) -> None:
    """Raise TypeError unless every value is a real number (True and False are none)."""
    for name, number in numbers.items():
        if not isinstance(number, Real) or isinstance(number, bool):
            raise TypeError(f"{name} must be a number, got {type(number).__name__}")


def check_flag(**flags: bool) -> None:
    """Raise TypeError unless every value is True or False."""
    for name, flag in flags.items():
        if not isinstance(flag, bool):
            raise TypeError(f"{name} must be True or False, got {type(flag).__name__}")


def check_instance(kind: type, **things: object) -> None:
    """Raise TypeError unless everything is of this kind."""
    for name, thing in things.items():
        if not isinstance(thing, kind):
            raise TypeError(f"{name} must be a {kind.__name__}, got {type(thing).__name__}")


def check_callable(**functions: object) -> None:
    """Raise TypeError unless everything can be called."""
    for name, function in functions.items():
        if not callable(function):
            raise TypeError(f"{name} must be callable, got {type(function).__name__}")


def check_tensor(**tensors: Tensor) -> None:
    """Raise TypeError unless every value is a tensor."""
    for name, tensor in tensors.items():
        if not isinstance(tensor, Tensor):
            raise TypeError(f"{name} must be a torch.Tensor, got {type(tensor).__name__}")


def check_float(**tensors: Tensor) -> None:
    """Raise TypeError unless every tensor has a floating dtype."""
    check_tensor(**tensors)
    for name, tensor in tensors.items():
        if not tensor.is_floating_point():
            raise TypeError(f"{name} must have a floating dtype, got {tensor.dtype}")


def check_same_dtype(**tensors: Tensor) -> None:
    """Raise TypeError unless all tensors are floating and of one dtype, as products need them."""
    check_float(**tensors)
    dtypes = {tensor.dtype for tensor in tensors.values()}
    if len(dtypes) == 1:
        return
    device = next(iter(tensors.values())).device.type
    if not torch.is_autocast_enabled(device):  # which mixes dtypes on purpose
        named = ", ".join(f"{name} {tensor.dtype}" for name, tensor in tensors.items())
        raise TypeError(f"all must have the same dtype, got {named}")


def check_query_key(query: Tensor, key: Tensor) -> None:
    """Raise unless query (..., L, d_k) and key (..., S, d_k) can be scored against each other."""
    check_float(query=query, key=key)
    for name, tensor in (("query", query), ("key", key)):
        if tensor.dim() < 2:
            raise ValueError(
                f"{name} needs at least two axes (length, width), got {_shape(tensor)}"
            )
    if query.shape[-1] != key.shape[-1]:
        raise ValueError(
            "query and key need the same width in their last axis, "
            f"got {query.shape[-1]} and {key.shape[-1]}"
        )
    if query.shape[-1] == 0:
        raise ValueError("query and key need a width of at least 1, got 0")
    check_same_dtype(query=query, key=key)
    check_leading(query=query, key=key)


def check_query_key_value(query: Tensor, key: Tensor, value: Tensor) -> None:
    """Raise unless the three fit together: one value for each key, broadcastable leading axes."""
    check_query_key(query, key)
    check_float(value=value)
    if value.dim() < 2:
        raise ValueError(f"value needs at least two axes (length, width), got {_shape(value)}")
    if key.shape[-2] != value.shape[-2]:
        raise ValueError(
            f"key and value need the same number of keys, got {key.shape[-2]} and {value.shape[-2]}"
        )
    check_same_dtype(query=query, value=value)
    check_leading(query=query, key=key, value=value)


def check_boolean(**masks: Tensor) -> None:
    """Raise TypeError unless every mask is a boolean tensor."""
    check_tensor(**masks)
    for name, mask in masks.items():
        if mask.dtype != torch.bool:
            raise TypeError(f"{name} must be boolean (True = may attend), got dtype {mask.dtype}")


def check_mask(attn_mask: Tensor, shape: torch.Size) -> None:
    """Raise unless the mask is boolean and broadcasts to the scores' shape (..., L, S)."""
    check_boolean(attn_mask=attn_mask)
    if attn_mask.shape == shape[len(shape) - attn_mask.dim() :]:
        return
    try:
        broadcast = torch.broadcast_shapes(attn_mask.shape, shape)
    except RuntimeError:
        broadcast = None
    if broadcast != shape:
        raise ValueError(
            f"attn_mask must broadcast to the scores' shape {tuple(shape)}, "
            f"got {tuple(attn_mask.shape)}"
        )


def check_leading(**tensors: Tensor) -> None:
    """Raise ValueError unless the axes before the last two broadcast."""
    first, *others = (tensor.shape[:-2] for tensor in tensors.values())
    if all(other == first for other in others):  # as nearly always; the question below takes longer
        return
    try:
        torch.broadcast_shapes(first, *others)
    except RuntimeError:
        named = ", ".join(f"{name} {_shape(tensor)}" for name, tensor in tensors.items())
        raise ValueError(f"leading axes must broadcast against each other, got {named}") from None


def _shape(tensor: Tensor) -> str:
    return str(tuple(tensor.shape))
