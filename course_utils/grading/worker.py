"""The process in which a stranger's function runs, and what it does for the judge outside.

Nothing said here is trusted where it can be checked: the judge compares the values itself.
Only what cannot be seen from outside, the cost and the method, is judged here, and not trusted if
any part of the judge was modified meanwhile.
"""

import contextlib
import linecache
import os
import sys
import tempfile
import types
from collections.abc import Callable
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_flatten

from course_utils.checking.judge import judge
from course_utils.exercises import find
from course_utils.grading import walls
from course_utils.grading.codec import Foreign, decode, encode
from course_utils.grading.untouched import Untouched

_FILE = "<the submitted notebook>"


def serve(
    connection: Connection, name: str, source: str, folder: str, seconds: int, apart: bool
) -> None:
    """Run the submitted source in a sandbox and do what the judge asks until it hangs up.

    Args:
        connection: To the judge.
        name: The exercise, and the function to be judged.
        source: The code that defines it.
        folder: The only place where it may write.
        seconds: Of processor time, in total.
        apart: Whether the answer is only called, and everything that could answer for it is taken
            out of its reach; otherwise it is judged here.
    """
    _leave_the_grader(connection.fileno())
    work: dict[str, Callable[..., Any]] = {}
    if apart:
        _disown(name)
    else:
        exercise = find(name)
        untouched = Untouched(exercise)
        work["judge"] = lambda: _judged(exercise, answer, untouched)
    torch.set_num_threads(1)
    os.chdir(folder)
    tempfile.tempdir = folder
    walls.limit_resources(seconds)
    walls.forbid_files_outside(Path(folder))
    walls.forbid_by_audit(Path(folder))
    channel = _Channel(connection)
    try:
        answer = _load(name, source)
    except BaseException as error:
        channel.reply("raised", *_told(error))
        return
    channel.reply("ready")
    work |= {"call": lambda *args: channel.called(answer, args), "grad": channel.gradients}
    with contextlib.suppress(EOFError, OSError):
        while True:
            kind, *given = channel.receive()
            try:
                channel.reply("done", work[kind](*given))
            except BaseException as error:
                channel.reply("raised", *_told(error))


def _load(name: str, source: str) -> Any:
    """Return the function; tracebacks and Triton can find its source."""
    linecache.cache[_FILE] = (len(source), None, source.splitlines(keepends=True), _FILE)
    module = types.ModuleType("submitted")
    exec(compile(source, _FILE, "exec"), vars(module))
    return vars(module)[name]


def _judged(exercise: Any, answer: Any, untouched: Untouched) -> dict[str, Any]:
    report = judge(exercise, answer)
    changed = untouched.changes()
    if report.passed and changed:
        says = f"While it was graded, the submission changed {', '.join(changed[:3])}."
        report = replace(report, status="changed_input", says=says)
    return {key: value for key, value in vars(report).items() if key != "picture"}


def _disown(name: str) -> None:
    """Take the course's own solution, and the exercises with theirs, out of an answer's reach."""
    reference = find(name).reference
    for module in [one for one in sys.modules if one.startswith("course_utils.exercises")]:
        vars(sys.modules.pop(module)).clear()

    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("this function is what the exercise asks for: write your own")

    if isinstance(reference, types.FunctionType) and not reference.__code__.co_freevars:
        reference.__code__ = refuse.__code__
        reference.__defaults__, reference.__kwdefaults__ = None, None


class _Channel:
    """Talks to the judge; keeps calls for their gradients, since one may feed the next."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.calls: list[tuple[list[Tensor], list[Tensor]]] = []

    def receive(self) -> Any:
        return decode(self.connection.recv_bytes(), self._stub)

    def reply(self, *value: Any) -> None:
        self.connection.send_bytes(encode(value))

    def _stub(self, number: int) -> Callable[..., Any]:
        """Make a proxy that calls a function of the judge's; it holds nothing of it."""

        def ask(*args: Any, **kwargs: Any) -> Any:
            self.reply("ask", number, args, kwargs)
            kind, value = self.receive()
            if kind != "answer":
                raise RuntimeError(str(value))
            return value

        return ask

    def called(self, answer: Callable[..., Any], args: tuple[Any, ...]) -> tuple[Any, Any, int]:
        """Return what the answer returns, the arguments afterwards, and the call's number."""
        leaves = _tied(list(args))
        value = answer(*args)
        if leaves:
            self.calls.append((leaves, _tied(value)))
        after = [Foreign("function") if callable(arg) else arg for arg in args]
        return value, after, len(self.calls) - 1

    def gradients(self, number: int, *grads: Tensor) -> list[Tensor | None]:
        """Return the gradients that reach the arguments of a call."""
        leaves, outs = self.calls[number]
        found = torch.autograd.grad(outs, leaves, grads, retain_graph=True, allow_unused=True)
        return list(found)


def _tied(values: Any) -> list[Tensor]:
    """Return the tensors among values through which gradients flow."""
    return [x for x in tree_flatten(values)[0] if isinstance(x, Tensor) and x.requires_grad]


def _told(error: BaseException) -> tuple[str, str]:
    try:
        return type(error).__name__, str(error)[:2000]
    except BaseException:
        return type(error).__name__, ""


def _leave_the_grader(kept: int) -> None:
    """Become a process group, which can be killed as one; inherit no files, print nowhere."""
    with contextlib.suppress(AttributeError, OSError):
        os.setsid()
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    os.closerange(3, kept)
    os.closerange(kept + 1, max(kept + 1, 256))
