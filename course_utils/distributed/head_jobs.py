"""Attention with its heads split over ranks, from the same tensors as a single process takes."""

from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import Tensor

from course_utils.distributed.launch import run_ranks
from course_utils.distributed.tensor_heads import ring_all_reduce, tensor_parallel_attention
from course_utils.distributed.volume import SentBytes
from course_utils.validation import check_head_groups, check_shape

Weights = tuple[Tensor, Tensor, Tensor, Tensor]


@dataclass(frozen=True)
class Summed:
    """The result of ranks with some of the heads each, and its cost.

    Attributes:
        out: The output (B, n, d_model), which every rank has; rank 0's.
        grad: The gradient of the input, rank 0's.
        sent: The bytes that each rank sent, forward and backward.
        apart: How far the ring's all-reduce was from the backend's own, at most over all ranks.
    """

    out: Tensor
    grad: Tensor
    sent: list[tuple[int, int]]
    apart: float


def attend_by_heads(
    x: Tensor,
    weights: Weights,
    grad_out: Tensor,
    num_heads: int,
    num_kv_heads: int,
    world_size: int,
) -> Summed:
    """Split the heads, attend causally on `world_size` processes, and gather the results.

    Args:
        x: All tokens (B, n, d_model).
        weights: The matrices W_q, W_k, W_v and W_o of all heads.
        grad_out: The gradient of the output.
        num_heads: The total number of query heads.
        num_kv_heads: The total number of key/value heads.
        world_size: How many processes share them.

    Raises:
        ValueError: The processes do not divide the heads; none is started.
    """
    check_head_groups(num_heads, num_kv_heads)
    check_shape(x.shape, grad_out=grad_out)
    if num_kv_heads % world_size:
        raise ValueError(f"{world_size} ranks must divide the key/value heads, got {num_kv_heads}")
    heads = (num_heads // world_size, num_kv_heads // world_size)
    given = (x.detach(), *(w.detach() for w in weights), grad_out.detach())
    reports = run_ranks(heads_job, world_size, given, heads, timeout=60.0)
    out, grad = reports[0][0]
    return Summed(out, grad, [sent for _, sent, _ in reports], max(far for *_, far in reports))


def heads_job(
    rank: int, world_size: int, given: tuple[Tensor, ...], heads: tuple[int, int]
) -> tuple[tuple[Tensor, Tensor], tuple[int, int], float]:
    """Attend with one rank's heads: output and the input's gradient, bytes sent, and a check."""
    x, w_q, w_k, w_v, w_o, grad_out = given
    own = [w.chunk(world_size, dim=1)[rank] for w in (w_q, w_k, w_v)]
    x = x.detach().requires_grad_()
    with SentBytes() as counter:
        out = tensor_parallel_attention(
            x, own[0], own[1], own[2], w_o.chunk(world_size, dim=0)[rank], *heads
        )
        there = counter.total
        (grad,) = torch.autograd.grad(out, x, grad_out)
        sent = (there, counter.total - there)
    part = x.detach() * (rank + 1)
    summed = ring_all_reduce(part)
    dist.all_reduce(part)
    return (out.detach(), grad), sent, float((summed - part).abs().max())
