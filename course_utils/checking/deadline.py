"""Stop a call that does not end on its own."""

import contextlib
import ctypes
import gc
import signal
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from types import FrameType
from typing import Any
from weakref import WeakSet, WeakValueDictionary

_AGAIN = 0.05  # seconds after which a call that swallowed the first exception gets another
_PATIENCE = 8.0  # how many times longer a call may take if it mostly waits
_WEAK = {kind.__init__.__code__.co_filename for kind in (WeakSet, WeakValueDictionary)}


class EndlessError(BaseException):
    """Raised into a call that takes too long; no `except Exception` catches it."""


class Stopwatch:
    """The time a call has used: its thread's own, or an eighth of the wall time if that is more.

    On a busy machine wall time passes while the call does not run; but a call
    that sleeps forever has to be stopped by the wall clock.
    """

    def __init__(self) -> None:
        self._read = _processor_clock()
        self._own, self._clock = self._read(), time.monotonic()

    def seconds(self) -> float:
        """Return the time since it was created, for the thread that created it."""
        waited = (time.monotonic() - self._clock) / _PATIENCE
        return max(self._read() - self._own, waited)


def _processor_clock() -> Callable[[], float]:
    """Return a clock of this thread's processor time that other threads can read too."""
    if sys.platform == "linux":
        return partial(time.clock_gettime, time.pthread_getcpuclockid(threading.get_ident()))
    return time.thread_time


def arm(seconds: float) -> Callable[[], None]:
    """Raise EndlessError into the calling thread after some seconds; return how to call it off.

    Cancelling is safe to repeat, and must be repeated if EndlessError arrives meanwhile.
    """
    in_main = threading.current_thread() is threading.main_thread()
    return _alarm(seconds) if in_main and hasattr(signal, "setitimer") else _watchdog(seconds)


def _alarm(seconds: float) -> Callable[[], None]:
    tracing, spent = sys.gettrace(), Stopwatch()

    def on_alarm(signum: int, frame: FrameType | None) -> None:
        if spent.seconds() < 0.9 * seconds or _must_finish(frame):
            return  # the alarm rings again soon
        # A bare `except:` in a loop swallows the exception: then the next line raises another.
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


def _must_finish(frame: FrameType | None) -> bool:
    """Return whether a call is importing, or its garbage is being collected.

    A module stopped halfway stays broken, and what callbacks of the collector or of weak references
    raise is dropped.
    """
    collecting = {getattr(callback, "__code__", None) for callback in gc.callbacks}
    while frame is not None and not _is_ours(frame):
        code = frame.f_code
        imports = code.co_filename.startswith("<frozen importlib")
        if imports or code in collecting or code.co_filename in _WEAK:
            return True
        frame = frame.f_back
    return False


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
    thread = threading.get_ident()
    caller = ctypes.c_ulong(thread)
    spent = Stopwatch()
    over, fired, lock = threading.Event(), threading.Event(), threading.Lock()

    def watch() -> None:
        wait = seconds
        while not over.wait(wait):
            wait = _AGAIN
            if sys.platform == "linux" and spent.seconds() < 0.9 * seconds:
                continue
            with lock:
                if not over.is_set() and not _must_finish(sys._current_frames().get(thread)):
                    fired.set()
                    raise_in(caller, ctypes.py_object(EndlessError))

    def disarm() -> None:
        with lock:
            over.set()
        if fired.is_set():
            # The last exception may still be on its way. Withdrawing it would leave CPython 3.11 on
            # alert forever, slow, and hung under a debugger: so one is sent and awaited.
            with contextlib.suppress(EndlessError):
                raise_in(caller, ctypes.py_object(EndlessError))
                while True:
                    pass

    threading.Thread(target=watch, daemon=True).start()
    return disarm
