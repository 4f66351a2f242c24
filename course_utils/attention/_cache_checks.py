"""Checks that the caches share. They run at every token, so numbers are compared one by one."""

import torch
from torch import Tensor

from course_utils.attention._checks import check_tensor
from course_utils.attention._mask_checks import check_integers


def check_storage(dtype: torch.dtype, device: torch.device | str | None) -> None:
    """Raise unless keys and values of this dtype can be attended to, and the device can be."""
    if not isinstance(dtype, torch.dtype) or not dtype.is_floating_point:
        raise TypeError(f"dtype must be a floating torch.dtype, got {dtype}")
    try:
        torch.device("cpu" if device is None else device)
    except (RuntimeError, TypeError):
        raise ValueError(f"device must be one that torch knows, got {device!r:.60}") from None


def check_slots(cache_key: Tensor, cache_value: Tensor) -> None:
    """Raise unless both are tensors of one shape (B, H, S_max, d) and dtype."""
    check_tensor(cache_key=cache_key, cache_value=cache_value)
    shape = tuple(cache_key.shape)
    if len(shape) != 4 or shape != cache_value.shape:
        raise ValueError(
            "cache_key and cache_value need the same four axes (B, H, S_max, d), "
            f"got {shape} and {tuple(cache_value.shape)}"
        )
    if cache_key.dtype != cache_value.dtype:
        raise TypeError(
            "cache_key and cache_value need the same dtype, "
            f"got {cache_key.dtype} and {cache_value.dtype}"
        )


def check_new(like: Tensor, key: Tensor, value: Tensor) -> None:
    """Raise unless key and value (B, H_kv, T, d) can be written into `like` (B, H_kv, S, d)."""
    batch, heads, _, width = like.shape
    for name, tensor in (("key", key), ("value", value)):
        _check_kind(name, tensor, like.dtype)
        if tensor.shape != (batch, heads, tensor.shape[2], width):
            raise ValueError(
                f"{name} must have the shape ({batch}, {heads}, T, {width}) of the cache, "
                f"got {tuple(tensor.shape)}"
            )
    if key.shape[2] != value.shape[2]:
        raise ValueError(
            f"key and value need the same number of tokens, got {key.shape[2]} and {value.shape[2]}"
        )
    if not key.shape[2]:
        raise ValueError("there must be at least one new token, got none")


def check_length(length: int, largest: int) -> None:
    """Raise unless `length` is an int from 0 to `largest`, the number of slots."""
    if not isinstance(length, int) or isinstance(length, bool):
        raise TypeError(f"length must be an int, got {type(length).__name__}")
    if not 0 <= length <= largest:
        raise ValueError(f"length must lie between 0 and the {largest} slots, got {length}")


def check_room(length: int, new: int, largest: int) -> None:
    """Raise ValueError unless `new` tokens fit behind `length` of them."""
    if length + new > largest:
        raise ValueError(f"the cache has room for {largest} tokens, got {new} more after {length}")


def check_query(query: Tensor, like: Tensor, length: int) -> None:
    """Raise unless query (B, H, T, d) fits a cache `like` (B, H_kv, S, d) of `length` tokens."""
    _check_kind("query", query, like.dtype)
    batch, num_heads, new, width = query.shape
    own_batch, num_kv_heads, _, own_width = like.shape
    if batch != own_batch or width != own_width:
        raise ValueError(
            f"query must have the shape ({own_batch}, H, T, {own_width}) of the cache, "
            f"got {tuple(query.shape)}"
        )
    if not num_heads or num_heads % num_kv_heads:
        raise ValueError(
            "the key and value heads must divide the query heads, "
            f"got {num_kv_heads} for {num_heads}"
        )
    if not 1 <= new <= length:
        raise ValueError(
            f"query needs from 1 to {length} tokens, as many as it may stand at, got {new}"
        )


def check_first(first: Tensor, batch: int) -> None:
    """Raise unless `first` holds one integer for each of the `batch` sequences."""
    check_integers(("B",), first=first)
    if first.shape[0] != batch:
        raise ValueError(f"first needs one number for each of {batch} sequences, got {len(first)}")


def _check_kind(name: str, tensor: Tensor, dtype: torch.dtype) -> None:
    if not isinstance(tensor, Tensor):
        raise TypeError(f"{name} must be a torch.Tensor, got {type(tensor).__name__}")
    if tensor.dtype != dtype:
        raise TypeError(f"{name} must have the cache's dtype {dtype}, got {tensor.dtype}")
    if tensor.dim() != 4:
        raise ValueError(
            f"{name} must have the axes (B, heads, tokens, width), got {tuple(tensor.shape)}"
        )
