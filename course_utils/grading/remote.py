"""A stranger's function as the judge sees it: called here, run in a sandboxed process."""

import builtins
import contextlib
import multiprocessing
import os
import signal
import tempfile
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_flatten, tree_unflatten

from course_utils.grading.codec import decode, encode
from course_utils.grading.worker import serve

LOADING = 20  # seconds at most for the code around the function: imports, helpers, constants


class LostError(RuntimeError):
    """The answer's process has ended: it exited, used too much, or took too long."""


class RemoteAnswer:
    """A function in a process of its own; use it in a `with`, which ends the process.

    Args:
        name: The exercise, and the function in the source.
        source: The code that defines it.
        seconds: How long all calls together may take, and loading the source.
        apart: Whether it is only called, with nothing there that could answer for it.
    """

    def __init__(self, name: str, source: str, seconds: int = 60, apart: bool = False) -> None:
        self._given: list[Any] = []  # what stays here, and is referred to by number over there
        self._folder = tempfile.TemporaryDirectory(prefix="answer-", ignore_cleanup_errors=True)
        context = _context()
        self._connection, there = context.Pipe()
        arguments = (there, name, source, self._folder.name, seconds, apart)
        self._process = context.Process(target=serve, args=arguments, daemon=True)
        self._process.start()
        there.close()
        self._seconds = seconds

    def __enter__(self) -> "RemoteAnswer":
        try:
            self._receive(min(LOADING, self._seconds))
        except (EOFError, OSError) as error:
            self.end()
            raise LostError("the process of the answer has ended") from error
        except BaseException:
            self.end()
            raise
        return self

    def __exit__(self, *exc: object) -> None:
        self.end()

    def end(self) -> None:
        """Kill the process, and whatever it started, immediately."""
        if hasattr(os, "killpg") and self._process.pid and self._process.is_alive():
            with contextlib.suppress(ProcessLookupError):  # it had no process group of its own yet
                os.killpg(self._process.pid, signal.SIGKILL)
        self._process.kill()
        self._process.join()
        self._connection.close()
        self._folder.cleanup()

    def request(self, kind: str, *given: Any) -> Any:
        """Let the process do something and return what it gives back.

        Raises:
            LostError: It does not answer.
            Exception: What was raised over there, under the same name where Python has it.
        """
        try:
            self._connection.send_bytes(encode((kind, *given), self._keep))
            return self._receive()
        except BaseException as error:
            if getattr(error, "told", False):
                raise
            self.end()
            if isinstance(error, EOFError | OSError | ValueError):
                raise LostError("the process of the answer has ended") from error
            raise

    def _receive(self, seconds: int | None = None) -> Any:
        while True:
            if not self._connection.poll(self._seconds if seconds is None else seconds):
                raise EOFError
            message = self._connection.recv_bytes()
            kind, *value = decode(message, kept=self._given.__getitem__)
            if kind == "raised":
                raise _rebuilt(*value)
            if kind != "ask":
                return value[0] if value else None
            self._answer(*value)

    def _answer(self, number: int, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Call a function that was an argument, on behalf of the other side."""
        try:
            reply = ("answer", self._given[number](*args, **kwargs))
        except Exception as error:
            reply = ("raised", f"{type(error).__name__}: {error}")
        self._connection.send_bytes(encode(reply, self._keep))

    def _keep(self, value: Any) -> int:
        self._given.append(value)
        return len(self._given) - 1

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function over there; inputs that it changes are changed here too."""
        if kwargs:
            raise TypeError("a graded function is called with its arguments in order")
        flat, _ = tree_flatten(list(args))
        leaves = [x for x in flat if isinstance(x, Tensor) and x.requires_grad]
        if not leaves or not torch.is_grad_enabled():
            return self._call(args)[0]
        kept: list[Any] = []
        tensors = _Through.apply(self, args, kept, *leaves)  # type: ignore[no-untyped-call]
        values, spec, places = kept
        for place, tensor in zip(places, tensors, strict=True):
            values[place] = tensor
        return tree_unflatten(values, spec)

    def _call(self, args: tuple[Any, ...]) -> tuple[Any, int]:
        value, after, number = self.request("call", *args)
        with torch.no_grad():
            for before, now in zip(args, after, strict=True):
                _copy_change(before, now)
        return value, int(number)


class _Through(torch.autograd.Function):
    """Lets gradients flow back through a call that ran elsewhere."""

    @staticmethod
    def forward(ctx: Any, remote: RemoteAnswer, args: Any, kept: list[Any], *leaves: Tensor) -> Any:
        value, ctx.number = remote._call(args)
        values, spec = tree_flatten(value)
        places = [i for i, value in enumerate(values) if isinstance(value, Tensor)]
        kept += [values, spec, places]
        ctx.remote = remote
        ctx.tied = [values[i].requires_grad for i in places]
        tensors = tuple(values[i].detach() for i in places)
        loose = [t for t, tied in zip(tensors, ctx.tied, strict=True) if not tied]
        ctx.mark_non_differentiable(*loose)
        return tensors

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        wanted = [grad for grad, tied in zip(grads, ctx.tied, strict=True) if tied]
        return (None, None, None, *ctx.remote.request("grad", ctx.number, *wanted))


def _copy_change(before: Any, now: Any) -> None:
    if isinstance(before, torch.Generator) and isinstance(now, torch.Generator):
        before.set_state(now.get_state())
    elif isinstance(before, Tensor) and isinstance(now, Tensor) and before.shape == now.shape:
        same = (before == now) | (before.isnan() & now.isnan())
        if before.dtype == now.dtype and not bool(same.all()):
            before.detach().copy_(now)


def _rebuilt(name: str, message: str) -> BaseException:
    kind = getattr(builtins, name, None)
    error: Exception = RuntimeError(f"{name}: {message}")
    if isinstance(kind, type) and issubclass(kind, Exception):
        with contextlib.suppress(TypeError):  # an error whose constructor takes more than a text
            error = kind(message)
    error.told = True  # type: ignore[attr-defined]
    return error


def _context() -> Any:
    """Return how processes are made: forked from one that has imported torch, where possible."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["course_utils.grading.ready"])
    return context
