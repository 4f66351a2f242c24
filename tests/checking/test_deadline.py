"""A deadline leaves nothing behind: no late exception, no interpreter on the look-out."""

import gc
import sys
import threading
import time
from collections.abc import Callable

import pytest

from course_utils.checking.guard import call


def in_another_thread(work: Callable[[], None]) -> None:
    """Run something where the deadline is a watchdog's, not a signal's."""
    raised: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(60)
    assert not thread.is_alive()
    assert not raised


def met() -> None:
    assert call(lambda: 1, (), 5.0).value == 1


def missed() -> None:
    def endless() -> None:
        while True:
            pass

    assert call(endless, (), 0.05).kind == "endless"


def missed_in_the_last_moment() -> None:
    for _ in range(5):
        assert call(time.sleep, (0.02,), 0.02).kind in ("returned", "endless")
        for _ in range(1000):
            abs(-1)


@pytest.mark.parametrize("use", [met, missed, missed_in_the_last_moment])
@pytest.mark.parametrize("where", ["the main thread", "another thread"])
def test_no_exception_comes_late_and_a_debugger_still_runs(
    use: Callable[[], None], where: str
) -> None:
    if where == "the main thread":
        use()
    else:
        in_another_thread(use)
    before = sys.gettrace()
    sys.settrace(lambda *event: None)  # CPython 3.11 hangs here where an exception was withdrawn
    try:
        assert (lambda: 1)() == 1
    finally:
        sys.settrace(before)


def test_the_collector_s_callbacks_are_not_interrupted() -> None:
    finished: list[str] = []

    def last(phase: str, info: object) -> None:
        started = time.thread_time()
        while time.thread_time() - started < 0.2:
            pass
        finished.append(phase)

    def endless() -> None:
        gc.collect(0)
        while True:
            pass

    gc.collect()  # what other tests left
    gc.callbacks.append(last)
    try:
        assert call(endless, (), 0.1).kind == "endless"
    finally:
        gc.callbacks.remove(last)
    assert finished[:2] == ["start", "stop"]


@pytest.mark.thorough
def test_a_call_that_waits_for_the_machine_gets_longer_but_not_for_ever() -> None:
    assert call(time.sleep, (1.1,), 1.0).kind == "returned"
    assert call(time.sleep, (30.0,), 0.2).kind == "endless"
