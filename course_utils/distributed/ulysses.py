"""Ulysses: shards of the tokens with all heads become shards of the heads with all tokens.

Source: Jacobs et al. 2023, DeepSpeed Ulysses, https://arxiv.org/abs/2309.14509
Same contract as: attention in one process; each head is whole on one rank
"""

from collections.abc import Sequence
from typing import Any

import torch
import torch.distributed as dist
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from course_utils.validation import check_grouped, check_instance, check_same_dtype


def sequence_to_heads(
    shards: Sequence[Float[Tensor, "B H n_r d"]],
) -> list[Float[Tensor, "B H_per_rank n d"]]:
    """Return what each rank holds after the all-to-all: its share of the heads, of all tokens.

    Args:
        shards: All heads of each rank's tokens, ranks in the order of the text.
    """
    check_instance(Sequence, shards=shards)
    if not len(shards):
        raise ValueError("there must be at least one shard, got none")
    check_same_dtype("B H n d", **{f"shard {r}": shard for r, shard in enumerate(shards)})
    sizes = {(*shard.shape[:2], shard.shape[3]) for shard in shards}
    num_heads = shards[0].shape[1]
    if len(sizes) > 1 or num_heads % len(shards):
        raise ValueError(
            f"shards must be of the same (B, H, d), H a multiple of {len(shards)}, "
            f"got {[tuple(shard.shape) for shard in shards]}"
        )
    return list(torch.cat(list(shards), dim=2).chunk(len(shards), dim=1))


def ulysses_attention(
    query: Float[Tensor, "B H n_per_rank d_k"],
    key: Float[Tensor, "B H_kv n_per_rank d_k"],
    value: Float[Tensor, "B H_kv n_per_rank d_v"],
    is_causal: bool = True,
) -> Float[Tensor, "B H n_per_rank d_v"]:
    """Return this rank's rows of attention over the tokens of all ranks of the default group.

    Rank r holds the r-th of equal runs of the text. Differentiable: what goes one way in the
    forward pass comes back in the backward pass. Args and errors are those of
    `parallel_ring_attention`, plus a ValueError if the number of ranks does not divide the heads.
    """
    check_grouped(query, key, value)
    if key.shape[1] % dist.get_world_size():
        raise ValueError(
            f"{dist.get_world_size()} ranks must divide the key/value heads, got {key.shape[1]}"
        )
    asking, asked, read = (_AllToAll.apply(x, 1, 2) for x in (query, key, value))  # type: ignore[no-untyped-call]
    is_grouped = query.shape[1] != key.shape[1]
    out = F.scaled_dot_product_attention(
        asking, asked, read, is_causal=is_causal, enable_gqa=is_grouped
    )
    return _AllToAll.apply(out, 2, 1)  # type: ignore[no-untyped-call]


class _AllToAll(torch.autograd.Function):
    """Split one axis into a part for each rank, and join what arrives along another."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, cut: int, joined: int) -> Tensor:
        ctx.axes = (cut, joined)
        outgoing = torch.stack(x.chunk(dist.get_world_size(), dim=cut))
        incoming = torch.empty(outgoing.shape, dtype=x.dtype, device=x.device)
        dist.all_to_all_single(incoming, outgoing)
        return torch.cat(incoming.unbind(), dim=joined)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None]:
        cut, joined = ctx.axes
        return _AllToAll.apply(grads[0], joined, cut), None, None  # type: ignore[no-untyped-call]
