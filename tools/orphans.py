"""Track whose children processes are; those that outlive their parent become ours, to be ended."""

import ctypes
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path


def adopt_orphans() -> None:
    """Become the parent of what our children leave behind; outside Linux, nothing happens."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER


def children(pid: int) -> Iterator[int]:
    """Yield the numbers of a process's children, on Linux."""
    for listed in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):
            yield from map(int, listed.read_text().split())
