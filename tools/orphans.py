"""Processes that outlive the one that started them become ours, to be waited for or ended."""

import ctypes
import sys


def adopt_orphans() -> None:
    """Become the parent of what our children leave behind; outside Linux, nothing happens."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER
