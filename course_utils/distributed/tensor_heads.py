"""Tensor parallelism: each rank has some heads' weights, and all tokens; the outputs are summed.

Source: Shoeybi et al. 2019, Megatron-LM, https://arxiv.org/abs/1909.08053, section 3; the ring
    all-reduce, Patarasuk and Yuan 2009, Bandwidth optimal all-reduce algorithms for clusters of
    workstations, https://doi.org/10.1016/j.jpdc.2008.09.002
Ours / theirs: `_Shared` = f, `_Summed` = g of Megatron's figure 3
"""

from typing import Any

import torch
import torch.distributed as dist
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from course_utils.attention.core.split_heads import merge_heads, split_heads
from course_utils.distributed.ring import ring_schedule
from course_utils.distributed.rotation import rotated
from course_utils.validation import check_head_groups, check_same_dtype


def ring_all_reduce(x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """Return the sum of all ranks' `x`, on every rank.

    P - 1 rotations sum one part for each rank (reduce-scatter), P - 1 more pass the sums around
    (all-gather). Parts are of equal size; the last one is padded with zeros if necessary.
    """
    rank, world_size = dist.get_rank(), dist.get_world_size()
    flat = F.pad(x.flatten(), (0, -x.numel() % world_size))
    parts = list(flat.chunk(world_size))
    order = ring_schedule(world_size, rank)
    held = parts[rank]
    for source in order[1:]:
        (coming,) = rotated(held)
        held = coming + parts[source]
    # The sum held now is that of the part which the next rank began with.
    for source in order:
        parts[(source + 1) % world_size] = held
        if source != order[-1]:
            (held,) = rotated(held)
    return torch.cat(parts)[: x.numel()].reshape(x.shape)


def tensor_parallel_attention(
    x: Float[Tensor, "B n d_model"],
    w_q: Float[Tensor, "d_model heads_d_k"],
    w_k: Float[Tensor, "d_model kv_heads_d_k"],
    w_v: Float[Tensor, "d_model kv_heads_d_v"],
    w_o: Float[Tensor, "heads_d_v d_model"],
    num_heads: int,
    num_kv_heads: int,
    is_causal: bool = True,
) -> Float[Tensor, "B n d_model"]:
    """Return multi-head self-attention of which this rank computes some heads.

    Args:
        x: All tokens, the same on every rank.
        w_q: The columns of the query projection that belong to this rank's heads.
        w_k: Those of the key projection.
        w_v: Those of the value projection.
        w_o: The rows of the output projection that read this rank's heads.
        num_heads: This rank's number of query heads.
        num_kv_heads: This rank's number of key/value heads.
        is_causal: Whether a query sees no key after it.
    """
    check_same_dtype(x=x, w_q=w_q, w_k=w_k, w_v=w_v, w_o=w_o)
    check_head_groups(num_heads, num_kv_heads)
    x = _Shared.apply(x)  # type: ignore[no-untyped-call]
    query = split_heads(x @ w_q, num_heads)
    key, value = split_heads(x @ w_k, num_kv_heads), split_heads(x @ w_v, num_kv_heads)
    is_grouped = num_heads != num_kv_heads
    out = F.scaled_dot_product_attention(
        query, key, value, is_causal=is_causal, enable_gqa=is_grouped
    )
    return _Summed.apply(merge_heads(out) @ w_o)  # type: ignore[no-untyped-call]


class _Shared(torch.autograd.Function):
    """A tensor that every rank reads: forward the identity, backward a sum over ranks."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Tensor:
        return ring_all_reduce(grads[0])


class _Summed(torch.autograd.Function):
    """A sum of all ranks' parts: forward the sum, backward the same gradient for every rank."""

    @staticmethod
    def forward(ctx: Any, part: Tensor) -> Tensor:
        return ring_all_reduce(part)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Tensor:
        return grads[0]
