"""Object queries: learned slots that ask an image what is where.

Source: Carion et al. 2020, End-to-End Object Detection with Transformers (DETR), section 3.2 and
    appendix A.3 (positions are added to queries and keys at every layer, not to values),
    https://arxiv.org/abs/2005.12872
Ours / theirs: x = tgt;  query_position = query_pos, the object queries;  memory_position = pos
Differs: one head, no output projection, no bias, no residual
Same contract as: SDPA of (x + query_position) W_q, (memory + memory_position) W_k and memory W_v
"""

from jaxtyping import Float
from torch import Tensor

from course_utils.attention.core.scaled_dot_product import scaled_dot_product_attention
from course_utils.validation import check_float, check_matrix, check_same_dtype, check_shape


def object_query_attention(
    x: Float[Tensor, "B Q d"],
    query_position: Float[Tensor, "Q d"],
    memory: Float[Tensor, "B S d"],
    memory_position: Float[Tensor, "S d"],
    W_q: Float[Tensor, "d d_k"],
    W_k: Float[Tensor, "d d_k"],
    W_v: Float[Tensor, "d d_v"],
) -> Float[Tensor, "B Q d_v"]:
    """Return what each object query reads from the memory, whose values carry no position.

    Args:
        x: What the queries hold so far; zeros in the first layer.
        query_position: One learned vector for each query: the object query itself.
        memory: The image's tokens.
        memory_position: Each token's position.
        W_q: Makes the queries.
        W_k: Makes the keys.
        W_v: Makes the values.
    """
    check_float("B length width", x=x, memory=memory)
    check_same_dtype(
        x=x, query_position=query_position, memory=memory, memory_position=memory_position,
        W_q=W_q, W_k=W_k, W_v=W_v,
    )  # fmt: skip
    check_shape((x.shape[0], memory.shape[1], x.shape[2]), memory=memory)
    check_shape(tuple(x.shape[1:]), query_position=query_position)
    check_shape(tuple(memory.shape[1:]), memory_position=memory_position)
    check_matrix("W_q", W_q, rows=x.shape[-1], of="x")
    check_matrix("W_k", W_k, rows=x.shape[-1], columns=W_q.shape[1], of="memory")
    check_matrix("W_v", W_v, rows=x.shape[-1], of="memory")
    query, key = (x + query_position) @ W_q, (memory + memory_position) @ W_k
    return scaled_dot_product_attention(query, key, memory @ W_v)
