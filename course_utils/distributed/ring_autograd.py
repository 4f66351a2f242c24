"""The ring as one differentiable operation: the backward pass is a ring as well.

Source: Liu, Zaharia, Abbeel 2023, Ring Attention, https://arxiv.org/abs/2310.01889; torch's own,
    torch.distributed.tensor.experimental._context_parallel, `_templated_ring_attention`
Differs: any layout of the tokens, given by their positions; fewer key/value heads than query heads.
"""

from typing import Any

import torch
import torch.distributed as dist
from jaxtyping import Float, Int64
from torch import Tensor

from course_utils.attention.tiled.online_softmax import merge_partials
from course_utils.distributed._blocks import Block, attend, attend_backward, visible_block
from course_utils.distributed.ring import ring_schedule
from course_utils.distributed.rotation import begin_rotation, rotated
from course_utils.validation import check_grouped, check_integers, check_shape


def parallel_ring_attention(
    query: Float[Tensor, "B H n_per_rank d_k"],
    key: Float[Tensor, "B H_kv n_per_rank d_k"],
    value: Float[Tensor, "B H_kv n_per_rank d_v"],
    positions: Int64[Tensor, "P n_per_rank"],
    is_causal: bool = True,
) -> Float[Tensor, "B H n_per_rank d_v"]:
    """Return this rank's rows of attention over the tokens of all ranks of the default group.

    Every rank must call it, and its backward pass, in the same order.

    Args:
        query: The queries of this rank's tokens.
        key: Their keys; each head may serve several query heads.
        value: Their values.
        positions: The positions of each rank's tokens, the same table on all ranks.
        is_causal: Whether a query sees no key after it.
    """
    check_grouped(query, key, value)
    check_integers("P n", positions=positions)
    check_shape((dist.get_world_size(), query.shape[-2]), positions=positions)
    check_shape(key.shape[-2:-1], **{"positions of one rank": positions[0]})
    return _Ring.apply(query, key, value, positions, is_causal)  # type: ignore[no-untyped-call]


class _Ring(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, query: Tensor, key: Tensor, value: Tensor, positions: Tensor, is_causal: bool
    ) -> Tensor:
        wide = torch.promote_types(query.dtype, torch.float32)
        out = query.new_zeros(*query.shape[:-1], value.shape[-1], dtype=wide)
        lse = query.new_full(query.shape[:-1], -torch.inf, dtype=wide)
        ctx.blocks = _blocks(positions, is_causal)
        held: tuple[Tensor, ...] = (key, value)
        for block, is_last in ctx.blocks:
            coming = None if is_last else begin_rotation(*held)
            if block is not None:
                rows = block.rows
                keys, values = _expanded(query, held, block)
                part = attend(query[:, :, rows], keys, values, block)
                out[:, :, rows], lse[:, :, rows] = merge_partials(
                    out[:, :, rows], lse[:, :, rows], part[0].to(wide), part[1].to(wide)
                )
            held = held if coming is None else coming()
        out = out.to(query.dtype)
        ctx.save_for_backward(query, key, value, out, lse)
        return out

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        query, key, value, out, lse = ctx.saved_tensors
        grad_out, grad_query = grads[0], torch.zeros_like(query)
        held: tuple[Tensor, ...] = (key, value)
        grad_held: tuple[Tensor, ...] = (torch.zeros_like(key), torch.zeros_like(value))
        for block, is_last in ctx.blocks:
            coming = None if is_last else begin_rotation(*held)
            if block is not None:
                grad_rows, asked, result, total = (
                    x[:, :, block.rows] for x in (grad_out, query, out, lse)
                )
                keys, values = _expanded(query, held, block)
                share = attend_backward(grad_rows, asked, keys, values, result, total, block)
                grad_query[:, :, block.rows] += share[0]
                for grad, part in zip(grad_held, share[1:], strict=True):
                    grad[:, :, block.keys] += part.unflatten(1, (grad.shape[1], -1)).sum(2)
            grad_held = rotated(*grad_held)  # after the last step they are home
            held = held if coming is None else coming()
        return grad_query, *grad_held, None, None


def _blocks(positions: Tensor, is_causal: bool) -> list[tuple[Block | None, bool]]:
    """Return what this rank multiplies at each step, and whether the step is the last."""
    rank, world_size = dist.get_rank(), dist.get_world_size()
    schedule = ring_schedule(world_size, rank)
    return [
        (visible_block(positions[rank], positions[source], is_causal), step == world_size)
        for step, source in enumerate(schedule, 1)
    ]


def _expanded(query: Tensor, held: tuple[Tensor, ...], block: Block) -> list[Tensor]:
    """Return the keys and values that are seen, each head repeated for its query heads."""
    return [
        x[:, :, block.keys].repeat_interleave(query.shape[1] // x.shape[1], dim=1) for x in held
    ]
