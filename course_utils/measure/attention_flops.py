"""Count the operations of attention's two matrix products: what a TFLOP/s of attention means.

Source: Dao 2023, FlashAttention-2, section 4.1, https://arxiv.org/abs/2307.08691
Ours / theirs: 2·L·S·(d_k + d_v) per head is 4 · seqlen² · head dimension where all sizes are equal
"""

from course_utils.validation import check_at_least


def attention_flops(
    batch: int, num_heads: int, num_queries: int, num_keys: int, d_k: int, d_v: int
) -> int:
    """Count Q Kᵀ and P V, 2 per multiply-add; the softmax is of lower order and is left out.

    Args:
        batch: How many sequences there are.
        num_heads: How many query heads each has.
        num_queries: How many queries there are.
        num_keys: How many keys there are.
        d_k: Width of a query or key.
        d_v: Width of a value.
    """
    check_at_least(
        1, batch=batch, num_heads=num_heads, num_queries=num_queries, num_keys=num_keys, d_k=d_k,
        d_v=d_v,
    )  # fmt: skip
    return 2 * batch * num_heads * num_queries * num_keys * (d_k + d_v)
