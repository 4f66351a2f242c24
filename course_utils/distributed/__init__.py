"""One attention over several processes: how its parts move, and what is sent."""

from course_utils.distributed.launch import run_ranks

__all__ = ["run_ranks"]
