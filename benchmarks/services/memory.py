"""The memory of processes, shared pages divided fairly, and the most of it while something runs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import psutil


def held(process: psutil.Process) -> int:
    """Return the bytes that a process holds; none where it has ended."""
    with suppress(psutil.Error):
        return int(process.memory_full_info().pss)
    return 0


def held_by_tree() -> int:
    """Return the bytes of this process and of all below it."""
    own = psutil.Process()
    return sum(map(held, [own, *own.children(recursive=True)]))


@contextmanager
def watched(now: Callable[[], int], every: float = 2.0) -> Iterator[list[int]]:
    """Sample a value every few seconds, and yield the growing list of samples."""
    found, over = [0], threading.Event()

    def watch() -> None:
        while not over.wait(every):
            found.append(now())

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield found
    finally:
        over.set()
        watcher.join()
