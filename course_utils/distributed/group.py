"""The group to which a process belongs: gloo on CPUs, nccl where each rank has a GPU of its own."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor
from torch._C._distributed_c10d import FileStore
from torch.utils._pytree import tree_map

LOOPBACK = {"linux": "lo", "darwin": "lo0"}


def moved(tree: Any, device: torch.device | str) -> Any:
    """Return the same lists, tuples and dicts with every tensor on this device."""
    return tree_map(lambda leaf: leaf.to(device) if isinstance(leaf, Tensor) else leaf, tree)


@contextmanager
def joined_group(
    rank: int, world_size: int, timeout: float, meeting: Path | None = None
) -> Iterator[torch.device]:
    """Join the group, yield the rank's device, and leave when every rank is ready to leave.

    An operation waits `timeout` seconds for the other ranks. They meet at a shared
    file, so that no port is needed, or at the address that `torchrun` put into the environment.
    """
    has_own_gpu = torch.cuda.is_available() and torch.cuda.device_count() >= world_size
    device = torch.device("cuda", rank) if has_own_gpu else torch.device("cpu")
    if device.type == "cuda":
        torch.cuda.set_device(device)
    elif sys.platform in LOOPBACK and meeting is not None:  # all on this machine
        os.environ.setdefault("GLOO_SOCKET_IFNAME", LOOPBACK[sys.platform])
    torch.set_num_threads(1)
    dist.init_process_group(
        "nccl" if device.type == "cuda" else "gloo",
        store=None if meeting is None else FileStore(str(meeting), world_size),
        rank=rank,
        world_size=world_size,
        timeout=timedelta(seconds=timeout),
    )
    try:
        yield device
        dist.barrier()  # a rank that leaves early breaks what its neighbours are still sending
    finally:
        if dist.is_initialized():  # else a job has destroyed it, and may be reporting why
            dist.destroy_process_group()
