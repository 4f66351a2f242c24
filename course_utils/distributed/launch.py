"""One function in several processes: started, watched, and always ended, whatever happens in one.

Source: torch.distributed, https://docs.pytorch.org/docs/stable/distributed.html; the start methods
    of multiprocessing, https://docs.python.org/3/library/multiprocessing.html
Differs from `torch.multiprocessing.spawn`: results come back; the rank at fault is named, not the
    one that noticed first; torch is imported once, not in every process of every call.
"""

import multiprocessing
import pickle
import signal
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

import cloudpickle

from course_utils.distributed._rank import serve_rank
from course_utils.plain_validation import check_at_least, check_callable, check_positive

STARTING = 120.0  # seconds for an import of torch on a busy machine; only the first call needs it
LATE = 0.2  # seconds by which a neighbour's own time-out may come after the parent's
ANSWER = 0.6  # seconds for a rank to say where it is; a free rank answers in a moment
PRELOADED = [  # once, not in each process: the second is what torch.autograd.grad imports
    "course_utils.distributed._rank", "torch.fx.experimental.symbolic_shapes",
]  # fmt: skip
Job = Callable[..., Any]


class RankError(Exception):
    """A rank's error, with its own traceback; the cause of the RuntimeError that names it."""


def run_ranks(job: Job, world_size: int, *args: object, timeout: float = 20.0) -> list[Any]:
    """Return what `job(rank, world_size, *args)` returns in each process, by rank.

    Every process is a member of the default group of torch.distributed, on gloo, or on nccl where
    there are as many GPUs as ranks; tensors among the arguments are then on the rank's own. The
    job is sent by value if it was written in a notebook, else by its module's name.

    Args:
        job: What each rank does. Start it from a script only below `if __name__ == "__main__":`.
        world_size: The number of processes.
        *args: Arguments of the job, the same for all ranks.
        timeout: Seconds within which the job must be done, and within which its neighbours must
            answer a rank.

    Raises:
        RuntimeError: A rank raised something, ended, or reported nothing in time: the message names
            the rank at fault, and what it said. No process is left running.
    """
    check_callable(job=job)
    check_at_least(1, world_size=world_size)
    check_positive(timeout=timeout)
    context = _context()
    sent = cloudpickle.dumps((job, args))
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        ranks = []
        try:
            for rank in range(world_size):
                ours, theirs = context.Pipe()
                given = (theirs, rank, world_size, Path(folder) / "meeting", timeout, sent)
                process = context.Process(target=serve_rank, args=given, name=f"rank {rank}")
                process.start()
                theirs.close()
                ranks.append(_Rank(rank, process, ours))
            return _results(ranks, timeout)
        finally:
            for one in ranks:
                one.end()


def _context() -> Any:
    methods = multiprocessing.get_all_start_methods()
    context: Any = multiprocessing.get_context("forkserver" if "forkserver" in methods else "spawn")
    if "forkserver" in methods:
        context.set_forkserver_preload(PRELOADED)
    return context


class _Rank:
    """A process, as its parent knows it."""

    def __init__(self, number: int, process: Any, pipe: "Connection[Any, Any]") -> None:
        self.number, self.process, self.pipe = number, process, pipe
        self.is_ready = self.is_done = self.is_lost = self.has_ended = False
        self.result: Any = None
        self.fault: str | None = None  # what it raised, other than a lost neighbour
        self.steps = ""
        self.place: tuple[str, bool] | None = None  # where it is, and whether it waits there

    @property
    def is_silent(self) -> bool:
        return not (self.is_done or self.is_lost or self.fault or self.has_ended)

    def hear(self) -> None:
        """Take in everything the process has said, and whether it has ended."""
        over = self.process.exitcode is not None  # checked first: what it said before is read below
        try:
            while self.pipe.poll():
                self._take(*pickle.loads(self.pipe.recv_bytes()))
        except (EOFError, OSError):
            over = True
        self.has_ended = over

    def _take(self, kind: str, what: Any) -> None:
        if kind == "ready":
            self.is_ready = True
        elif kind == "done":
            self.is_done, self.result = True, what
        elif kind == "stands":
            self.place = what
        elif not self.is_done:  # what follows the job, at the barrier, is not its own fault
            said, self.steps, self.is_lost = what
            self.fault = None if self.is_lost else said

    def ask(self) -> None:
        with suppress(OSError):
            self.pipe.send_bytes(b"where?")

    def end(self) -> None:
        """End the process, and wait until it has ended."""
        if self.is_done and not self.is_lost:
            self.process.join(0.5)
        self.process.kill()
        self.process.join()
        self.process.close()
        self.pipe.close()


def _results(ranks: list[_Rank], timeout: float) -> list[Any]:
    _listen(ranks, STARTING + timeout, lambda rank: rank.is_ready)
    _listen(ranks, timeout + LATE, lambda rank: rank.is_done or rank.is_lost)
    if all(rank.is_done for rank in ranks):
        return [rank.result for rank in ranks]
    silent = [rank for rank in ranks if rank.is_silent]
    for rank in silent:
        rank.ask()
    _listen(silent, ANSWER, lambda rank: rank.place is not None)
    raise RuntimeError(_silence(ranks, silent, timeout))


def _listen(ranks: list[_Rank], seconds: float, is_enough: Callable[[_Rank], bool]) -> None:
    """Take in reports until every rank has said enough, or the time is up.

    Raises:
        RuntimeError: A rank raised something other than a lost connection, or ended early.
    """
    end = time.monotonic() + seconds
    while not all(map(is_enough, ranks)) and (left := end - time.monotonic()) > 0:
        heard = [rank for rank in ranks if not rank.has_ended]
        wait([source for rank in heard for source in (rank.pipe, rank.process.sentinel)], left)
        for rank in heard:
            rank.hear()
        ended = [rank for rank in ranks if rank.has_ended and not rank.is_done and not rank.is_lost]
        if ended:  # perhaps because of what another raised, which may have arrived since
            for rank in heard:
                rank.hear()
        for rank in ranks:
            if rank.fault:
                cause = RankError(rank.steps)
                raise RuntimeError(f"{_name(rank, ranks)} raised {rank.fault}") from cause
        for rank in ended:
            if not rank.is_lost:
                raise RuntimeError(f"{_name(rank, ranks)} ended without a report: {_ending(rank)}")
        if not any(rank.is_silent for rank in ranks):
            return


def _name(rank: _Rank, ranks: list[_Rank]) -> str:
    return f"rank {rank.number} of {len(ranks)}"


def _ending(rank: _Rank) -> str:
    rank.process.join()
    code = rank.process.exitcode
    return f"exit code {code}" if code >= 0 else f"signal {signal.Signals(-code).name}"


def _silence(ranks: list[_Rank], silent: list[_Rank], timeout: float) -> str:
    """Say who reported nothing: those waiting for another rank only if no others are left."""
    busy = [rank for rank in silent if rank.place and not rank.place[1]]
    stuck = busy or [rank for rank in silent if rank.place is None]
    if stuck:
        where = f"; it is at {stuck[0].place[0]}" if stuck[0].place else ""
        return f"{_name(stuck[0], ranks)} reported nothing in {timeout:g} s{where}"
    waiting = [rank.number for rank in ranks if not rank.is_done]
    done = [rank.number for rank in ranks if rank.is_done]
    places = {rank.place[0] for rank in silent if rank.place}
    return (
        f"rank {', '.join(map(str, waiting))} of {len(ranks)} waited {timeout:g} s for another rank"
        + (f", at {' and '.join(sorted(places))}" if places else "")
        + (f"; rank {', '.join(map(str, done))} was done" if done else "")
        + ": every rank must send and receive equally often"
    )
