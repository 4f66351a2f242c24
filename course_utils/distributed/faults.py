"""A job in which one rank fails while the others pass a number around, for `run_ranks` to name."""

import itertools
import os
import signal
import time

import torch

from course_utils.distributed.rotation import rotated

FAULTS = ("raise", "exit", "kill", "hang")


def failing_job(rank: int, world_size: int, fault: str, guilty: int, after: int = 1) -> None:
    """Pass a number round the ring for ever; after some rounds the guilty rank has its fault."""
    number = torch.tensor([float(rank)])
    for rounds in itertools.count():
        if rank == guilty and rounds == after:
            _fail(fault)
        (number,) = rotated(number)


def _fail(fault: str) -> None:
    if fault == "raise":
        raise ValueError("this rank was told to fail")
    if fault == "exit":
        os._exit(3)
    if fault == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(3600)
