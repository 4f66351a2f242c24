"""Call a learner's function so that nothing it does can harm the surrounding notebook.

An endless loop is stopped, `sys.exit` exits nothing, output is kept and counted, and whatever the
call changed in torch, in the random state or in torch's settings is put back and named.
"""

import contextlib
import io
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from course_utils.checking.deadline import EndlessError, arm
from course_utils.checking.isolation import Recorder, snapshot
from course_utils.checking.mistakes import Trace

KEPT_OUTPUT = 400
SECONDS = 5.0


class ReturnedError(BaseException):
    """Raised for a function that returns an error; no `except Exception` in a case catches it."""

    def __init__(self, error: BaseException) -> None:
        kind = type(error).__name__
        super().__init__(
            f"The function returns a {kind} instead of raising it. Which keyword ends a function "
            "with an error?"
        )


def raising(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that raises where `fn` returns an error."""

    def run(*args: Any, **kwargs: Any) -> Any:
        value = fn(*args, **kwargs)
        if isinstance(value, BaseException):
            raise ReturnedError(value)
        return value

    return run


@dataclass(frozen=True)
class Outcome:
    """The outcome of one call.

    Attributes:
        kind: "returned", "raised", "exited" or "endless".
        value: What it returned.
        error: What it raised.
        trace: What was observed during the call.
        changed: What it changed outside itself, e.g. "torch.softmax".
        printed: The beginning of what it printed.
        printed_length: How many characters it printed.
    """

    kind: str
    value: Any = None
    error: BaseException | None = None
    trace: Trace = field(default_factory=Trace)
    changed: tuple[str, ...] = ()
    printed: str = ""
    printed_length: int = 0


def call(
    fn: Callable[..., Any], args: tuple[Any, ...], seconds: float = SECONDS, watch: bool = True
) -> Outcome:
    """Return what `fn(*args)` does; raise nothing that it raises, except a user's own interrupt.

    Without `watch`, which is slow, no torch function is noted, and only torch's settings are
    restored: enough for the course's own functions.
    """
    output, recorder = _Output(), Recorder()
    with snapshot() as state:
        try:
            with contextlib.ExitStack() as stack:
                stack.enter_context(warnings.catch_warnings())
                warnings.simplefilter("ignore")
                stack.enter_context(contextlib.redirect_stdout(output))
                stack.enter_context(contextlib.redirect_stderr(output))
                if watch:
                    stack.enter_context(recorder)
                kind, value, error = _run(fn, args, seconds)
        finally:
            changed, moved = state.restore() if watch else (state.restore_settings(), False)
    trace = Trace(frozenset(recorder.calls), recorder.used_autograd, moved)
    return Outcome(kind, value, error, trace, tuple(changed), output.kept, output.length)


def run_within(seconds: float, work: Callable[[], None]) -> None:
    """Run some of the course's own work, and stop it at the time limit; its errors are dropped."""
    with snapshot() as state, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _run(work, (), seconds)
        state.restore_settings()


def _run(
    fn: Callable[..., Any], args: tuple[Any, ...], seconds: float
) -> tuple[str, Any, BaseException | None]:
    disarm = arm(seconds)
    try:
        try:
            return "returned", fn(*args), None
        finally:
            disarm()
    except EndlessError as caught:
        disarm()
        return "endless", None, caught
    except KeyboardInterrupt:
        raise
    except SystemExit as caught:
        return "exited", None, caught
    except BaseException as caught:
        return "raised", None, caught


class _Output(io.TextIOBase):
    """Keeps the first characters written to it and counts the rest."""

    def __init__(self) -> None:
        self.kept = ""
        self.length = 0

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        if self.length < KEPT_OUTPUT:
            self.kept += text[: KEPT_OUTPUT - self.length]
        self.length += len(text)
        return len(text)
