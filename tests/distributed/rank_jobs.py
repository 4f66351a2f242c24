"""Jobs of the tests, which fresh processes import from here."""

import os
import time
from multiprocessing.util import Finalize
from pathlib import Path

import torch
import torch.distributed as dist
from torch import Tensor

from course_utils.distributed import (
    SentBytes,
    parallel_ring_attention,
    ring_all_reduce,
    ulysses_attention,
)
from course_utils.distributed.rotation import begin_rotation, rotated


def told(rank: int, world_size: int, *args: object) -> tuple[object, ...]:
    return rank, world_size, args, os.getpid(), torch.get_num_threads()


def quiet(rank: int, world_size: int) -> None:
    """Return nothing."""


def noted(rank: int, world_size: int, folder: str) -> Path:
    """Leave the number of this process in a folder."""
    path = Path(folder) / str(os.getpid())
    path.touch()
    return path


def slow_last(rank: int, world_size: int, folder: str) -> None:
    """Be done at once, but for the last rank; notice whether a process ends before that one."""
    if rank < world_size - 1:
        Finalize(None, _notice, (folder,), exitpriority=1)
    else:
        time.sleep(0.5)
        (Path(folder) / "all are done").touch()


def _notice(folder: str) -> None:
    if not (Path(folder) / "all are done").exists():
        (Path(folder) / "left early").touch()


def lonely(rank: int, world_size: int, folder: str) -> None:
    """Wait for a neighbour that is done."""
    noted(rank, world_size, folder)
    if rank:
        dist.recv(torch.empty(1), 0)


def all_wait(rank: int, world_size: int, folder: str) -> None:
    """Wait for each other, for ever."""
    noted(rank, world_size, folder)
    dist.recv(torch.empty(1), (rank - 1) % world_size)


def raised_while_complaining(rank: int, world_size: int) -> None:
    """Raise an error of the job's own whose words sound like a lost connection."""
    if rank == 1:
        raise RuntimeError("gloo: connection reset, or so this job says")
    dist.recv(torch.empty(1), 1)


def strange(rank: int, world_size: int) -> object:
    """Return what cannot be sent."""
    return (part for part in ())


def turned(rank: int, world_size: int, blocks: Tensor) -> tuple[Tensor, ...]:
    """Rotate one rank's block twice, a non-contiguous view, and a tensor of whole numbers."""
    once = rotated(blocks[rank])
    later = begin_rotation(once[0].mT, torch.tensor([rank]))
    return once[0], *later()


def reduced(rank: int, world_size: int, parts: Tensor) -> tuple[Tensor, Tensor, int]:
    """Sum the parts of all ranks by the ring, and by the backend."""
    with SentBytes() as counter:
        ours = ring_all_reduce(parts[rank])
    theirs = parts[rank].clone()
    dist.all_reduce(theirs)
    return ours, theirs, counter.total


def refusals(rank: int, world_size: int) -> list[str]:
    """Return what is said to inputs that do not fit, each by every rank alike."""
    query, key = torch.zeros(1, 4, 3, 2), torch.zeros(1, 3, 3, 2)
    table = torch.arange(3 * world_size).reshape(world_size, 3)
    said = []
    for call in (
        lambda: parallel_ring_attention(query, query, query, table[:1]),
        lambda: parallel_ring_attention(query, query, query, table.double()),
        lambda: parallel_ring_attention(query, query[:, :, :2], query[:, :, :2], table),
        lambda: ulysses_attention(key, key, key),
        lambda: ring_counted(query),
    ):
        try:
            call()
        except (TypeError, ValueError) as error:
            said.append(f"{type(error).__name__}: {error}")
    return said


def ring_counted(x: Tensor) -> None:
    with SentBytes():
        dist.all_reduce(x)
