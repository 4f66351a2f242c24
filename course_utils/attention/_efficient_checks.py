"""Checks that the cheaper attentions share."""

from torch import Tensor

from course_utils.attention._checks import check_query_key_value, check_same_dtype


def check_heads(**tensors: Tensor) -> None:
    """Raise unless every tensor is floating and has the axes (B, heads, length, width)."""
    check_same_dtype(**tensors)
    for name, tensor in tensors.items():
        if tensor.dim() != 4:
            raise ValueError(
                f"{name} must have the axes (B, heads, length, width), got {tuple(tensor.shape)}"
            )


def check_grouped(query: Tensor, key: Tensor, value: Tensor) -> None:
    """Raise unless query (B, H, L, d_k) fits key and value, whose number of heads divides H.

    Numbers are compared one by one: while decoding, this runs before every short product.
    """
    check_heads(query=query, key=key, value=value)
    batch, num_heads, _, d_k = query.shape
    key_batch, num_kv_heads, _, key_width = key.shape
    if d_k != key_width:
        raise ValueError(
            f"query and key need the same width in their last axis, got {d_k} and {key_width}"
        )
    if not batch == key_batch == value.shape[0]:
        raise ValueError(
            "query, key and value need the same number of sequences, "
            f"got {batch}, {key_batch} and {value.shape[0]}"
        )
    if value.shape[1:3] != key.shape[1:3]:
        raise ValueError(
            "key and value need the same number of heads and of keys, "
            f"got {tuple(key.shape[1:3])} and {tuple(value.shape[1:3])}"
        )
    if num_kv_heads < 1 or num_heads % num_kv_heads:
        raise ValueError(
            "the key and value heads must divide the query heads, "
            f"got {num_kv_heads} for {num_heads}"
        )


def check_same_length(query: Tensor, key: Tensor, value: Tensor) -> None:
    """Raise unless the three fit together and each query stands at its own key."""
    check_query_key_value(query, key, value)
    if query.shape[-2] != key.shape[-2]:
        raise ValueError(
            "query and key need the same length, each query stands at its own key, "
            f"got {query.shape[-2]} and {key.shape[-2]}"
        )
