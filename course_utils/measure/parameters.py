"""Count the numbers that the projections of attention learn.

Source: Vaswani et al. 2017, Attention Is All You Need, section 3.2.2, https://arxiv.org/abs/1706.03762
Ours / theirs: num_heads = h;  W_q, W_k, W_v, W_o = W^Q, W^K, W^V, W^O
Differs: counts a bias too, one number for each column of a matrix, where there is one.
"""

from course_utils.validation import check_at_least, check_instance


def qkv_parameters(d_model: int, num_heads: int, d_k: int, d_v: int, bias: bool) -> int:
    """Count the numbers in the query, key and value projections of all heads, without W_o.

    Args:
        d_model: Width of the stream.
        num_heads: How many heads there are.
        d_k: Width of a query or key in one head.
        d_v: Width of a value in one head.
        bias: Whether each projection adds a learned vector.
    """
    check_at_least(1, d_model=d_model, num_heads=num_heads, d_k=d_k, d_v=d_v)
    check_instance(bool, bias=bias)
    columns = num_heads * (2 * d_k + d_v)
    return columns * (d_model + bool(bias))


def mha_parameters(d_model: int, num_heads: int, bias: bool) -> int:
    """Count the numbers in the four projections of multi-head attention.

    The number of heads cancels: more heads are narrower heads.

    Args:
        d_model: Width of the stream, and of all heads together.
        num_heads: How many heads share it.
        bias: Whether each projection adds a learned vector.
    """
    check_at_least(1, d_model=d_model, num_heads=num_heads)
    check_instance(bool, bias=bias)
    if d_model % num_heads != 0:
        raise ValueError(
            f"num_heads must divide d_model, got {num_heads} heads and a width of {d_model}"
        )
    d_head = d_model // num_heads
    output = d_model * (d_model + bool(bias))
    return qkv_parameters(d_model, num_heads, d_head, d_head, bias) + output
