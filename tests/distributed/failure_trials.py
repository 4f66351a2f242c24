"""One rank fails, at a moment and with neighbours drawn by chance: is it the one that is named?

    .venv/bin/python -m tests.distributed.failure_trials --trials 100

runs so many trials of each fault and prints how many named the guilty rank, how many processes were
left, and how long it took until the error came.
"""

import argparse
import contextlib
import os
import random
import re
import statistics
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import torch.distributed as dist

from course_utils.distributed import run_ranks
from course_utils.distributed.faults import FAULTS, failing_job

SAYS = {
    "raise": "raised ValueError: this rank was told to fail",
    "exit": "ended without a report: exit code 3",
    "kill": "ended without a report: signal SIGKILL",
    "hang": r"reported nothing in [\d.]+ s; it is at faults.py:\d+, in _fail: time.sleep\(3600\)",
}


@dataclass(frozen=True)
class Trial:
    """Who failed, what was said of it, after how many seconds, and which processes were left."""

    world_size: int
    guilty: int
    said: str
    seconds: float
    left: tuple[int, ...]

    def is_named(self, fault: str) -> bool:
        wanted = f"rank {self.guilty} of {self.world_size} {SAYS[fault]}"
        return re.fullmatch(wanted, self.said) is not None


def slow_to_tell(
    rank: int,
    world_size: int,
    folder: str,
    fault: str,
    guilty: int,
    after: int,
    delays: list[float],
    leaves_first: bool,
) -> None:
    """Fail, or notice that somebody failed, but report it only after a while of one's own.

    With `leaves_first` the guilty rank closes its connections first, so that its neighbours'
    complaints arrive before its own.
    """
    (Path(folder) / f"{os.getpid()}").touch()
    try:
        failing_job(rank, world_size, fault, guilty, after)
    except ValueError:
        if leaves_first:
            dist.destroy_process_group()
        time.sleep(delays[rank])
        raise
    except RuntimeError:
        time.sleep(delays[rank])
        raise


def trial(fault: str, draw: random.Random, timeout: float) -> Trial:
    """Let one rank of two to four fail."""
    world_size = draw.randint(2, 4)
    guilty, after = draw.randrange(world_size), draw.randint(0, 3)
    delays = [draw.choice((0.0, draw.uniform(0, 0.1))) for _ in range(world_size)]
    with tempfile.TemporaryDirectory() as folder:
        start = time.monotonic()
        try:
            run_ranks(
                slow_to_tell, world_size, folder, fault, guilty, after, delays, draw.random() < 0.5,
                timeout=timeout,
            )  # fmt: skip
        except RuntimeError as error:
            said = str(error)
        seconds = time.monotonic() - start
        left = tuple(filter(is_running, (int(path.name) for path in Path(folder).iterdir())))
    return Trial(world_size, guilty, said, seconds, left)


def is_running(process: int) -> bool:
    """Return whether there is such a process."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(process, 0)
        return True
    return False


def trials(fault: str, number: int, seed: int = 0, timeout: float = 20.0) -> Iterator[Trial]:
    """Yield the trials; a seed fixes them, up to the order of what is reported."""
    draw = random.Random(f"{fault} {seed}")
    yield from (trial(fault, draw, timeout) for _ in range(number))


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=100, help="of each fault (default 100)")
    parser.add_argument("--hang", type=float, default=1.0, help="seconds until a hang is seen")
    options = parser.parse_args()
    for fault in FAULTS:
        timeout = options.hang if fault == "hang" else 20.0
        done = list(trials(fault, options.trials, timeout=timeout))
        named = sum(one.is_named(fault) for one in done)
        left = sum(len(one.left) for one in done)
        took = sorted(one.seconds for one in done[1:] or done)
        print(
            f"{fault:<6} {named} of {len(done)} named, {left} processes left, "
            f"median {statistics.median(took):.2f} s, at most {took[-1]:.2f} s",
            flush=True,
        )
        for one in done:
            if not one.is_named(fault):
                print(f"    rank {one.guilty} of {one.world_size} failed, said was: {one.said}")


if __name__ == "__main__":
    main()
