"""Three views of one sequence: what each position asks for, what it offers, what it hands over.

Source: Vaswani et al. 2017, Attention Is All You Need, section 3.2.2, https://arxiv.org/abs/1706.03762;
    the fused layout is GPT-2's, https://github.com/openai/gpt-2/blob/master/src/model.py
Ours / theirs: W_q, W_k, W_v = W^Q, W^K, W^V;  qkv = the output of c_attn
Differs: no bias.
Same contract as: three torch.nn.functional.linear, with the matrices transposed
"""

from jaxtyping import Float
from torch import Tensor

from course_utils.validation import check_at_least, check_float, check_matrix, check_same_dtype


def project_qkv(
    x: Float[Tensor, "*batch L d_model"],
    W_q: Float[Tensor, "d_model d_k"],
    W_k: Float[Tensor, "d_model d_k"],
    W_v: Float[Tensor, "d_model d_v"],
) -> tuple[
    Float[Tensor, "*batch L d_k"], Float[Tensor, "*batch L d_k"], Float[Tensor, "*batch L d_v"]
]:
    """Return the queries, keys and values of one sequence: one source, three matrices.

    Args:
        x: The sequence.
        W_q: Makes a query of each position.
        W_k: Makes a key of each position, as wide as a query.
        W_v: Makes a value of each position, of any width.
    """
    check_float("... length width", x=x)
    check_matrix("W_q", W_q, rows=x.shape[-1], of="x")
    check_matrix("W_k", W_k, rows=x.shape[-1], columns=W_q.shape[1], of="x")
    check_matrix("W_v", W_v, rows=x.shape[-1], of="x")
    check_same_dtype(x=x, W_q=W_q, W_k=W_k, W_v=W_v)
    return x @ W_q, x @ W_k, x @ W_v


def split_fused_qkv(
    qkv: Float[Tensor, "*batch L three_d_model"], num_heads: int
) -> tuple[
    Float[Tensor, "*batch H L d_k"],
    Float[Tensor, "*batch H L d_k"],
    Float[Tensor, "*batch H L d_k"],
]:
    """Return the queries, keys and values of each head from one product x @ [W_q | W_k | W_v].

    They are views: nothing is copied.

    Args:
        qkv: All queries, then all keys, then all values, along the last axis; in each of the
            three, head 0 comes first.
        num_heads: How many heads share each third.

    Raises:
        ValueError: The last axis does not divide into three times num_heads equal parts.
    """
    check_float("... length width", qkv=qkv)
    check_at_least(1, num_heads=num_heads)
    if qkv.shape[-1] == 0 or qkv.shape[-1] % (3 * num_heads) != 0:
        raise ValueError(
            f"the width of qkv must be a multiple of 3 * num_heads = {3 * num_heads}, "
            f"got {qkv.shape[-1]}"
        )
    query, key, value = (
        third.unflatten(-1, (num_heads, -1)).transpose(-3, -2) for third in qkv.chunk(3, dim=-1)
    )
    return query, key, value
