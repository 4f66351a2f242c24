"""Measure the peak memory of a call.

The process's own peak says little: it never goes down, and small tensors hide in memory that the
allocator already had. PyTorch's profiler sees each allocation and each release.
"""

import os
from collections.abc import Callable

from torch.profiler import ProfilerActivity, profile

from course_utils.validation import check_callable


def peak_memory(fn: Callable[..., object], *args: object) -> int:
    """Return the peak bytes that tensors held during `fn(*args)`, beyond what was already there.

    What the call returns counts, and so does what torch's own operations need inside; the
    arguments do not. The number is the same in every run. CPU only.
    """
    check_callable(fn=fn)
    os.environ.setdefault("KINETO_LOG_LEVEL", "6")  # else the profiler announces itself on stderr
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        fn(*args)
    results = profiler.profiler.kineto_results
    events = [event for event in results.events() if event.name() == "[memory]"]
    held = peak = 0
    for event in sorted(events, key=lambda event: event.start_ns()):
        held += event.nbytes()
        peak = max(peak, held)
    return peak
