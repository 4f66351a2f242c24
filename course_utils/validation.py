"""Checks of a learner's arguments, each failing with "what must hold, got what".

A wrong type or dtype raises TypeError, a wrong size or number ValueError. Functions that only the
course itself calls check nothing: the test run holds them to their annotations (tests/conftest.py).
Some of these run for every token of a text, so the usual case comes first and compares little.
"""

import math

import torch
from torch import Tensor

from course_utils.plain_validation import *  # noqa: F403  (what needs no torch)

# Kinds of torch's, and tensors: their dtypes and axes


def check_storage(dtype: torch.dtype, device: torch.device | str | None) -> None:
    """Raise unless dtype is a floating one and torch knows the device; None is the default one."""
    if not isinstance(dtype, torch.dtype) or not dtype.is_floating_point:
        raise TypeError(f"dtype must be a floating torch.dtype, got {dtype}")
    try:
        torch.device("cpu" if device is None else device)
    except (RuntimeError, TypeError):
        raise ValueError(f"device must be one that torch knows, got {device!r:.60}") from None


def check_tensor(**tensors: object) -> None:
    """Raise TypeError unless every value is a tensor."""
    for name, tensor in tensors.items():
        if not isinstance(tensor, Tensor):
            raise TypeError(f"{name} must be a torch.Tensor, got {type(tensor).__name__}")


def check_axes(axes: str, /, **tensors: Tensor) -> None:
    """Raise ValueError unless every tensor has these axes; "... L d" means at least two."""
    names = axes.split()
    least, most = (len(names) - 1, math.inf) if names[0] == "..." else (len(names), len(names))
    for name, tensor in tensors.items():
        if not least <= tensor.dim() <= most:
            wanted = ", ".join(names) + "," * (len(names) == 1)
            raise ValueError(f"{name} must have the axes ({wanted}), got {tuple(tensor.shape)}")


def check_float(axes: str = "...", /, **tensors: Tensor) -> None:
    """Raise unless every tensor has a floating dtype and these axes."""
    check_tensor(**tensors)
    for name, tensor in tensors.items():
        if not tensor.is_floating_point():
            raise TypeError(f"{name} must have a floating dtype, got {tensor.dtype}")
    if axes != "...":
        check_axes(axes, **tensors)


def check_integers(axes: str = "...", /, **tensors: Tensor) -> None:
    """Raise unless every tensor holds integers and has these axes."""
    check_tensor(**tensors)
    for name, tensor in tensors.items():
        if tensor.dtype == torch.bool or tensor.is_floating_point() or tensor.is_complex():
            raise TypeError(f"{name} must hold integers, got dtype {tensor.dtype}")
    if axes != "...":
        check_axes(axes, **tensors)


def check_shape(shape: tuple[int, ...], /, **tensors: Tensor) -> None:
    """Raise ValueError unless every tensor has this shape."""
    for name, tensor in tensors.items():
        if tensor.shape != shape:
            raise ValueError(
                f"{name} must have the shape {tuple(shape)}, got {tuple(tensor.shape)}"
            )


def check_real(**tensors: Tensor) -> None:
    """Raise TypeError unless every tensor holds integers or floating-point numbers."""
    check_tensor(**tensors)
    for name, tensor in tensors.items():
        if tensor.dtype == torch.bool or tensor.is_complex():
            raise TypeError(f"{name} must hold real numbers, got dtype {tensor.dtype}")


def check_boolean(true: str = "may attend", /, **masks: Tensor) -> None:
    """Raise TypeError unless every mask is a boolean tensor; `true` is what True means in it."""
    check_tensor(**masks)
    for name, mask in masks.items():
        if mask.dtype != torch.bool:
            raise TypeError(f"{name} must be boolean (True = {true}), got dtype {mask.dtype}")


def check_same_dtype(axes: str = "...", /, **tensors: Tensor) -> None:
    """Raise unless all tensors have these axes and one floating dtype, as products need."""
    check_float(axes, **tensors)
    first, *others = tensors.values()
    # Autocast mixes dtypes on purpose.
    if all(other.dtype == first.dtype for other in others) or _is_autocast(first):
        return
    named = ", ".join(f"{name} {tensor.dtype}" for name, tensor in tensors.items())
    raise TypeError(f"all must have the same dtype, got {named}")


def check_leading(**tensors: Tensor) -> None:
    """Raise ValueError unless the axes before the last two broadcast."""
    first, *others = (tensor.shape[:-2] for tensor in tensors.values())
    if all(other == first for other in others):
        return
    if broadcast_shape(first, *others) is None:
        named = ", ".join(f"{name} {tuple(tensor.shape)}" for name, tensor in tensors.items())
        raise ValueError(f"leading axes must broadcast against each other, got {named}")


def check_matrix(
    name: str, matrix: Tensor, *, rows: int, columns: int | None = None, of: str
) -> None:
    """Raise unless the matrix has a row for each feature `of` something, and the given columns."""
    check_float(**{name: matrix})
    if matrix.dim() != 2 or matrix.shape[0] != rows or columns not in (None, matrix.shape[1]):
        raise ValueError(
            f"{name} must have the shape ({rows}, {'any' if columns is None else columns}), "
            f"a row for each feature of {of}, got {tuple(matrix.shape)}"
        )


def check_fed(weight: Tensor, /, **streams: Tensor) -> None:
    """Raise unless every stream (B, length, width) fits the rows of a Linear's weight."""
    check_float("B length width", **streams)
    for name, stream in streams.items():
        if stream.shape[-1] != weight.shape[1]:
            raise ValueError(
                f"{name} must be {weight.shape[1]} wide, got shape {tuple(stream.shape)}"
            )
        if stream.dtype != weight.dtype and not _is_autocast(stream):
            raise TypeError(
                f"{name} must have the module's dtype {weight.dtype}, got {stream.dtype}"
            )


def check_positions(x: Tensor, /, **positions: Tensor) -> None:
    """Raise unless each token of x (..., L, d) has a position: (L,), or (B, L) for each batch."""
    check_real(**positions)
    fits = [(x.shape[-2],)] if x.dim() < 3 else [(x.shape[-2],), (x.shape[0], x.shape[-2])]
    for name, given in positions.items():
        if tuple(given.shape) not in fits:
            shapes = " or ".join(map(str, fits))
            raise ValueError(f"{name} must have the shape {shapes}, got {tuple(given.shape)}")


# What attention is given


def check_query_key(query: Tensor, key: Tensor) -> None:
    """Raise unless query (..., L, d_k) and key (..., S, d_k) can be scored against each other."""
    check_same_dtype("... length width", query=query, key=key)
    _check_width(query, key)
    check_leading(query=query, key=key)


def check_query_key_value(query: Tensor, key: Tensor, value: Tensor) -> None:
    """Raise unless the three fit together: one value for each key, broadcastable leading axes."""
    check_same_dtype("... length width", query=query, key=key, value=value)
    _check_width(query, key)
    if key.shape[-2] != value.shape[-2]:
        raise ValueError(
            "key and value must have the same number of keys, "
            f"got {key.shape[-2]} and {value.shape[-2]}"
        )
    check_leading(query=query, key=key, value=value)


def check_same_length(query: Tensor, key: Tensor, value: Tensor) -> None:
    """Raise unless the three fit together and there are as many queries as keys."""
    check_query_key_value(query, key, value)
    if query.shape[-2] != key.shape[-2]:
        raise ValueError(
            "query and key must have the same length, each query stands at its own key, "
            f"got {query.shape[-2]} and {key.shape[-2]}"
        )


def check_grouped(query: Tensor, key: Tensor, value: Tensor) -> None:
    """Raise unless query (B, H, L, d_k) fits key and value, whose number of heads divides H."""
    check_same_dtype("B heads length width", query=query, key=key, value=value)
    batch, num_heads = query.shape[:2]
    _check_width(query, key)
    if not batch == key.shape[0] == value.shape[0]:
        raise ValueError(
            "query, key and value must have the same number of sequences, "
            f"got {batch}, {key.shape[0]} and {value.shape[0]}"
        )
    if value.shape[1:3] != key.shape[1:3]:
        raise ValueError(
            "key and value must have the same number of heads and of keys, "
            f"got {tuple(key.shape[1:3])} and {tuple(value.shape[1:3])}"
        )
    check_head_groups(num_heads, key.shape[1])


def check_head_groups(num_heads: int, num_kv_heads: int) -> None:
    """Raise ValueError unless every key/value head serves as many query heads, at least one."""
    if not num_heads or not num_kv_heads or num_heads % num_kv_heads:
        raise ValueError(
            "the key and value heads must divide the query heads, "
            f"got {num_kv_heads} for {num_heads}"
        )


def broadcast_shape(*shapes: torch.Size) -> torch.Size | None:
    """Return the shape to which all of these broadcast, or None.

    `torch.broadcast_shapes` does the same, but its first call imports sympy, which takes longer
    than most of an exercise's checks.
    """
    axes = max(map(len, shapes))
    padded = [(1,) * (axes - len(shape)) + tuple(shape) for shape in shapes]
    sizes = [{size for size in column if size != 1} for column in zip(*padded, strict=True)]
    if any(len(found) > 1 for found in sizes):
        return None
    return torch.Size([found.pop() if found else 1 for found in sizes])


def check_mask(attn_mask: Tensor, shape: torch.Size) -> None:
    """Raise unless the mask is boolean and broadcasts to the scores' shape (..., L, S)."""
    check_boolean(attn_mask=attn_mask)
    if attn_mask.shape == shape[len(shape) - attn_mask.dim() :]:
        return
    if broadcast_shape(attn_mask.shape, shape) != shape:
        raise ValueError(
            f"attn_mask must broadcast to the scores' shape {tuple(shape)}, "
            f"got {tuple(attn_mask.shape)}"
        )


# What a cache is given


def check_new(like: Tensor, key: Tensor, value: Tensor) -> None:
    """Raise unless key and value (B, H_kv, T, d) can be written into `like` (B, H_kv, S, d)."""
    _check_cached(like, like.shape[1], key=key, value=value)
    if not 0 < key.shape[2] == value.shape[2]:
        raise ValueError(
            "key and value must have the same number of tokens, at least one, "
            f"got {key.shape[2]} and {value.shape[2]}"
        )


def check_room(length: int, new: int, largest: int) -> None:
    """Raise ValueError unless `new` tokens fit after `length` of them."""
    if length + new > largest:
        raise ValueError(f"the cache has room for {largest} tokens, got {new} more after {length}")


def check_query(query: Tensor, like: Tensor, length: int) -> None:
    """Raise unless query (B, H, T, d) fits a cache `like` (B, H_kv, S, d) of `length` tokens."""
    _check_cached(like, None, query=query)
    check_head_groups(query.shape[1], like.shape[1])
    if not 1 <= query.shape[2] <= length:
        raise ValueError(f"query must have from 1 to {length} tokens, got {query.shape[2]}")


def _check_cached(like: Tensor, heads: int | None, /, **tensors: Tensor) -> None:
    check_tensor(**tensors)
    batch, _, _, width = like.shape
    for name, tensor in tensors.items():
        if tensor.dtype != like.dtype:
            raise TypeError(f"{name} must have the cache's dtype {like.dtype}, got {tensor.dtype}")
        fits = tensor.dim() == 4 and tensor.shape[::3] == (batch, width)
        if not fits or heads not in (None, tensor.shape[1]):
            raise ValueError(
                f"{name} must have the shape ({batch}, {heads or 'H'}, T, {width}) of the cache, "
                f"got {tuple(tensor.shape)}"
            )


def _check_width(query: Tensor, key: Tensor) -> None:
    if not 0 < query.shape[-1] == key.shape[-1]:
        raise ValueError(
            "query and key must have the same width in their last axis, at least 1, "
            f"got {query.shape[-1]} and {key.shape[-1]}"
        )


def _is_autocast(tensor: Tensor) -> bool:
    return torch.is_autocast_enabled(tensor.device.type)
