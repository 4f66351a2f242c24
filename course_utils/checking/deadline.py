"""Stop a call that does not end by itself."""

import contextlib
import ctypes
import signal
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import Any

_AGAIN = 0.05  # seconds after which a call that swallowed the first exception gets another
_PATIENCE = 3.0  # how many times longer a call may take that waits most of the time


class EndlessError(BaseException):
    """Raised into a call that takes too long; no `except Exception` catches it."""


class Stopwatch:
    """The time that a call has had: its thread's own, or a third of the clock's if that is more.

    On a machine that is busy with other work, the clock runs on while the call does not.
    """

    def __init__(self) -> None:
        self._own, self._clock = time.thread_time(), time.monotonic()

    def seconds(self) -> float:
        """Return the time since it was made, in the thread that made it."""
        waited = (time.monotonic() - self._clock) / _PATIENCE
        return max(time.thread_time() - self._own, waited)


def arm(seconds: float) -> Callable[[], None]:
    """Raise EndlessError into the calling thread in so many seconds; return how to call it off.

    Calling it off is safe to repeat, and must be repeated if EndlessError arrives meanwhile.
    """
    in_main = threading.current_thread() is threading.main_thread()
    return _alarm(seconds) if in_main and hasattr(signal, "setitimer") else _watchdog(seconds)


def _alarm(seconds: float) -> Callable[[], None]:
    tracing, spent = sys.gettrace(), Stopwatch()

    def on_alarm(signum: int, frame: FrameType | None) -> None:
        if spent.seconds() < 0.9 * seconds:
            return  # the alarm rings again soon
        # A bare `except:` in a loop swallows the exception: then its next line raises another.
        while frame is not None and not _is_ours(frame):
            frame.f_trace = _raise_on_line
            frame = frame.f_back
        sys.settrace(_trace_nothing_new)
        raise EndlessError

    def disarm() -> None:
        signal.signal(signal.SIGALRM, signal.SIG_IGN)
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        sys.settrace(tracing)
        signal.signal(signal.SIGALRM, before)

    before = signal.signal(signal.SIGALRM, on_alarm)
    signal.setitimer(signal.ITIMER_REAL, seconds, _AGAIN)
    return disarm


def _is_ours(frame: FrameType) -> bool:
    return frame.f_globals.get("__name__") == "course_utils.checking.guard"


def _raise_on_line(frame: FrameType, event: str, arg: Any) -> Any:
    if event == "line":
        raise EndlessError
    return _raise_on_line


def _trace_nothing_new(frame: FrameType, event: str, arg: Any) -> None:
    return None


def _watchdog(seconds: float) -> Callable[[], None]:
    """The same for other threads, and for systems without SIGALRM."""
    raise_in = ctypes.pythonapi.PyThreadState_SetAsyncExc
    caller = ctypes.c_ulong(threading.get_ident())
    over, fired, lock = threading.Event(), threading.Event(), threading.Lock()

    def watch() -> None:
        wait = seconds
        while not over.wait(wait):
            with lock:
                if not over.is_set():
                    fired.set()
                    raise_in(caller, ctypes.py_object(EndlessError))
            wait = _AGAIN

    def disarm() -> None:
        with lock:
            over.set()
        if fired.is_set():
            # The last exception may still be on its way. Withdrawing it would leave CPython 3.11 on
            # the look-out for ever, slow, and hung under a debugger: so one is sent and awaited.
            with contextlib.suppress(EndlessError):
                raise_in(caller, ctypes.py_object(EndlessError))
                while True:
                    pass

    threading.Thread(target=watch, daemon=True).start()
    return disarm
