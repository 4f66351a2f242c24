"""Count the bytes of the keys and values kept while text is generated.

Source: Shazeer 2019, Fast Transformer Decoding, section 2.4, https://arxiv.org/abs/1911.02150,
    where these bytes are what a step has to read
Ours / theirs: num_kv_heads = h, or 1 where heads share;  d_k = k = v;  num_tokens = n;  batch = b
Differs: counts all layers, and bytes instead of numbers.
"""

import math

from course_utils.validation import check_at_least, check_number

GIB = 2**30


def kv_cache_bytes(
    num_layers: int,
    num_kv_heads: int,
    d_k: int,
    num_tokens: int,
    batch: int,
    bytes_per_element: int,
) -> int:
    """Count the bytes of the keys and values, both as wide as d_k, of every token in every layer.

    Args:
        num_layers: How many layers keep their own.
        num_kv_heads: How many heads of keys and values a layer has; query heads do not matter.
        d_k: Width of a key, and of a value, in one head.
        num_tokens: How many tokens each sequence has.
        batch: How many sequences there are.
        bytes_per_element: 4 for float32, 2 for float16.
    """
    check_at_least(1, num_layers=num_layers, num_kv_heads=num_kv_heads, d_k=d_k, batch=batch)
    check_at_least(1, bytes_per_element=bytes_per_element)
    check_at_least(0, num_tokens=num_tokens)
    return 2 * num_layers * num_kv_heads * d_k * num_tokens * batch * bytes_per_element


def cache_fits(
    gib: float, num_layers: int, num_kv_heads: int, d_k: int, bytes_per_element: int, batch: int
) -> int:
    """Count the whole tokens of each sequence whose keys and values fit into `gib` GiB.

    Args:
        gib: Memory in units of 2^30 bytes.
        num_layers: How many layers keep their own.
        num_kv_heads: How many heads of keys and values a layer has.
        d_k: Width of a key, and of a value, in one head.
        bytes_per_element: 4 for float32, 2 for float16.
        batch: How many sequences share the memory.
    """
    check_number(gib=gib)
    if not (gib >= 0 and math.isfinite(gib)):
        raise ValueError(f"gib must be at least 0 and finite, got {gib}")
    of_one_token = kv_cache_bytes(num_layers, num_kv_heads, d_k, 1, batch, bytes_per_element)
    return int(gib * GIB) // of_one_token
