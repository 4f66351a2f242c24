"""Whole attentions by several processes, from the same tensors as a single process takes.

    torchrun --standalone --nproc-per-node 4 -m course_utils.distributed.jobs

runs the same job without `run_ranks` and prints how far the ranks are from a single process.
"""

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from course_utils.distributed.group import joined_group
from course_utils.distributed.launch import run_ranks
from course_utils.distributed.layouts import contiguous_split, striped_split, zigzag_split
from course_utils.distributed.ring_autograd import parallel_ring_attention
from course_utils.distributed.rotation import begin_rotation
from course_utils.distributed.ulysses import ulysses_attention
from course_utils.distributed.volume import SentBytes
from course_utils.validation import check_grouped

Layout = Literal["contiguous", "striped", "zigzag"]
LAYOUTS: dict[str, Callable[[int, int], Tensor]] = {
    "contiguous": contiguous_split, "striped": striped_split, "zigzag": zigzag_split,
}  # fmt: skip
Parts = tuple[Tensor, Tensor, Tensor]


@dataclass(frozen=True)
class Attended:
    """The result of several processes, put together in the order of the text, and its cost.

    Attributes:
        out: The output (B, H, n, d_v).
        grads: The gradients of query, key and value.
        sent: The bytes that each rank sent, forward and backward.
        seconds: The CPU time of each rank, forward and backward, the minimum of some runs.
    """

    out: Tensor
    grads: Parts
    sent: list[tuple[int, int]]
    seconds: list[tuple[float, float]]


def attend_on_ranks(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    grad_out: Tensor,
    world_size: int,
    layout: Layout = "zigzag",
    is_causal: bool = True,
    scheme: Literal["ring", "ulysses"] = "ring",
    runs: int = 1,
    timeout: float = 60.0,
) -> Attended:
    """Split the tokens, attend on `world_size` processes forward and backward, and gather.

    Raises:
        ValueError: The number of processes does not divide what it must divide; none is started.
    """
    check_grouped(query, key, value)
    positions = LAYOUTS[layout](query.shape[-2], world_size)
    if scheme == "ulysses" and (layout != "contiguous" or key.shape[1] % world_size):
        raise ValueError(
            f"Ulysses takes contiguous tokens and key/value heads that {world_size} ranks divide, "
            f"got {layout} and {key.shape[1]}"
        )
    given = (query.detach(), key.detach(), value.detach(), grad_out.detach())
    reports = run_ranks(
        attention_job, world_size, scheme, positions, is_causal, given, runs, timeout=timeout
    )
    return _collected(reports, positions)


def attention_job(
    rank: int,
    world_size: int,
    scheme: str,
    positions: Tensor,
    is_causal: bool,
    given: tuple[Tensor, ...],
    runs: int,
) -> tuple[list[Tensor], tuple[int, int], tuple[float, float]]:
    """Attend to one rank's tokens: output and gradients, bytes sent, seconds of CPU time.

    The first run counts bytes; those after it are timed.
    """
    *inputs, grad_out = (x[:, :, positions[rank]].requires_grad_() for x in given)

    def forward() -> Tensor:
        if scheme == "ulysses":
            return ulysses_attention(inputs[0], inputs[1], inputs[2], is_causal)
        return parallel_ring_attention(inputs[0], inputs[1], inputs[2], positions, is_causal)

    with SentBytes() as counter:
        out = forward()
        there = counter.total
        grads = torch.autograd.grad(out, inputs, grad_out)
    times = [cpu_seconds(forward, inputs, grad_out) for _ in range(runs - 1)] or [(0.0, 0.0)]
    least = (min(ahead for ahead, _ in times), min(back for _, back in times))
    return [out.detach(), *grads], (there, counter.total - there), least


def cpu_seconds(
    forward: Callable[[], Tensor], inputs: list[Tensor], grad_out: Tensor
) -> tuple[float, float]:
    """Return the CPU time of a forward pass and of its backward pass, in this process."""
    start = time.process_time()
    out = forward()
    middle = time.process_time()
    torch.autograd.grad(out, inputs, grad_out)
    return middle - start, time.process_time() - middle


def learner_job(
    rank: int, world_size: int, attention: Callable[..., Tensor], given: Parts
) -> Tensor:
    """Do a rank's whole part with a given `ring_attention`, the text split into runs."""
    length = given[0].shape[2] // world_size
    mine = (x[:, :, rank * length : (rank + 1) * length] for x in given)
    return attention(*mine, begin_rotation, rank, world_size)


def decoding_job(
    rank: int,
    world_size: int,
    attention: Callable[..., Tensor],
    query: Tensor,
    keys: Sequence[Tensor],
    values: Sequence[Tensor],
) -> tuple[Tensor, int]:
    """Answer one query on every rank, which holds a part of the cache; count the bytes sent."""
    with SentBytes() as counter:
        out = attention(query, keys[rank], values[rank], begin_rotation, rank, world_size)
    return out, counter.total


def single_process(
    query: Tensor, key: Tensor, value: Tensor, grad_out: Tensor, is_causal: bool = True
) -> tuple[Tensor, Parts]:
    """Return output and gradients of the same attention in one process, by torch's own function."""
    inputs = tuple(x.detach().requires_grad_() for x in (query, key, value))
    is_grouped = query.shape[1] != key.shape[1]
    out = F.scaled_dot_product_attention(
        inputs[0], inputs[1], inputs[2], is_causal=is_causal, enable_gqa=is_grouped
    )
    grads = torch.autograd.grad(out, inputs, grad_out)
    return out.detach(), (grads[0], grads[1], grads[2])


def _collected(reports: list[Any], positions: Tensor) -> Attended:
    order = positions.flatten().argsort()
    parts = zip(*(tensors for tensors, _, _ in reports), strict=True)
    out, *grads = (torch.cat(part, dim=2)[:, :, order] for part in parts)
    sent, seconds = ([report[place] for report in reports] for place in (1, 2))
    return Attended(out, (grads[0], grads[1], grads[2]), sent, seconds)


def _under_torchrun() -> None:
    rank, world_size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    g = torch.Generator().manual_seed(0)
    given = tuple(torch.randn(1, 2, 64, 8, generator=g, dtype=torch.float64) for _ in range(4))
    with joined_group(rank, world_size, timeout=60.0) as device:
        query, key, value, grad_out = given = tuple(x.to(device) for x in given)
        positions = zigzag_split(64, world_size).to(device)
        made, sent, _ = attention_job(rank, world_size, "ring", positions, True, given, 1)
        right, right_grads = single_process(query, key, value, grad_out)
        apart = max(
            float((one - whole[:, :, positions[rank]]).abs().max())
            for one, whole in zip(made, (right, *right_grads), strict=True)
        )
        said = f"rank {rank} of {world_size}: {sum(sent):,} bytes sent, within {apart:.0e}\n"
        print(said, end="", flush=True)  # in one call: the ranks share one output


if __name__ == "__main__":
    _under_torchrun()
