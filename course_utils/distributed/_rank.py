"""Run a process of `run_ranks`: the job, its report, and its current line when asked."""

import linecache
import os
import pickle
import re
import sys
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from types import FrameType
from typing import Any

import cloudpickle
import torch.distributed as dist

from course_utils.distributed.group import joined_group, moved

# What gloo and the store say when the other side is gone, or does not answer.
_LOST = re.compile(
    r"gloo|connection (closed|reset|refused)|broken pipe|timed? ?out|nccl|connect", re.IGNORECASE
)


def serve_rank(
    pipe: "Connection[Any, Any]",
    rank: int,
    world_size: int,
    meeting: Path,
    timeout: float,
    sent: bytes,
) -> None:
    """Join the group, do the job and report: ready, then done or raised."""
    reports = _Reports(pipe)
    threading.Thread(target=reports.answer, daemon=True).start()
    try:
        with joined_group(rank, world_size, timeout, meeting) as device:
            with reports.at_work():
                job, args = pickle.loads(sent)
                reports.say("ready", None)
                result = job(rank, world_size, *moved(args, device))
            reports.say("done", moved(result, "cpu"))
    except Exception as error:  # whatever a job raises, the parent shows it
        said = "".join(traceback.format_exception_only(error)).strip()
        steps = "".join(traceback.format_exception(error))
        reports.say("raised", (said, steps, _is_lost(error)))


class _Reports:
    """One pipe, on which the job reports and a separate thread says where the job is."""

    def __init__(self, pipe: "Connection[Any, Any]") -> None:
        self.pipe = pipe
        self.lock = threading.Lock()
        self.is_at_work = False

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Note that what happens now is the job itself, not the group's setup or teardown."""
        self.is_at_work = True
        try:
            yield
        finally:
            self.is_at_work = False

    def say(self, kind: str, what: object) -> None:
        report = cloudpickle.dumps((kind, what))
        with self.lock:
            self.pipe.send_bytes(report)

    def answer(self) -> None:
        """Say where the main thread is, each time the parent asks."""
        try:
            while self.pipe.recv_bytes():
                main = threading.main_thread().ident or 0
                frame = sys._current_frames()[main]
                waits = not self.is_at_work or _is_waiting(frame) or _is_lost(_handled(main))
                self.say("stands", (_place(frame), waits))
        except (EOFError, OSError):
            return  # the parent has heard enough


def _handled(thread: int) -> BaseException | None:
    found = sys._current_exceptions().get(thread)
    return found[1] if isinstance(found, tuple) else found  # a tuple before Python 3.12


def _is_lost(error: BaseException | None) -> bool:
    """Return whether an error, or its cause, is about a lost neighbour."""
    while error is not None:
        is_torchs = isinstance(error, dist.DistError) or type(error) is RuntimeError
        if is_torchs and _LOST.search(str(error)) and not _is_raised_by_the_job(error):
            return True
        error = error.__cause__ or error.__context__
    return False


def _is_raised_by_the_job(error: BaseException) -> bool:
    last = traceback.extract_tb(error.__traceback__)[-1:]
    return any(
        (step.line or "").startswith("raise") and not _in_torch(step.filename) for step in last
    )


def _in_torch(filename: str) -> bool:
    return f"{os.sep}torch{os.sep}distributed{os.sep}" in filename


def _place(frame: FrameType) -> str:
    line = linecache.getline(frame.f_code.co_filename, frame.f_lineno).strip()
    name = Path(frame.f_code.co_filename).name
    return f"{name}:{frame.f_lineno}, in {frame.f_code.co_name}" + (f": {line}" if line else "")


def _is_waiting(frame: FrameType) -> bool:
    """Return whether the innermost line waits for another rank, in torch or in a `work.wait()`."""
    line = linecache.getline(frame.f_code.co_filename, frame.f_lineno)
    return _in_torch(frame.f_code.co_filename) or ".wait(" in line
