"""A job in which one rank fails while the others pass a number round, for `run_ranks` to name."""

import os
import signal
import time

import torch
import torch.distributed as dist

FAULTS = ("raise", "exit", "kill", "hang")


def failing_job(rank: int, world_size: int, fault: str, guilty: int, after: int = 1) -> float:
    """Pass a number round the ring for ever; after some rounds the guilty rank fails.

    Args:
        rank: This process's number.
        world_size: How many there are.
        fault: "raise", "exit", "kill" or "hang".
        guilty: The rank that fails.
        after: How many rounds it takes part in.
    """
    number = torch.tensor([float(rank)])
    for rounds in range(10**9):
        if rank == guilty and rounds == after:
            _fail(fault)
        number = _passed(number, rank, world_size)
    return float(number)


def _passed(number: torch.Tensor, rank: int, world_size: int) -> torch.Tensor:
    got = torch.empty(1)
    sending = dist.isend(number, (rank + 1) % world_size)
    dist.recv(got, (rank - 1) % world_size)
    if sending is not None:
        sending.wait()
    return got


def _fail(fault: str) -> None:
    if fault == "raise":
        raise ValueError("this rank was told to fail")
    if fault == "exit":
        os._exit(3)
    if fault == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(3600)
