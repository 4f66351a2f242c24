"""Triton, where it is installed: its language, and its interpreter for tensors on a CPU.

`TRITON_INTERPRET=1` chooses the interpreter once and for all, and only if it is set before the
first `import triton`; some parts of torch import triton by themselves (`torch.utils.flop_counter`,
`torch._dynamo`). So a call on a CPU switches to the interpreter for as long as it runs.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

try:
    import triton
    import triton.language as tl
    from triton import jit
    from triton.language import constexpr
    from triton.runtime.errors import InterpreterError
    from triton.runtime.interpreter import (
        FunctionRewriter,
        GridExecutor,
        InterpretedFunction,
        interpreter_semantic,
    )
    from triton.runtime.jit import JITFunction
    from triton.tools.tensor_descriptor import TensorDescriptor
except ImportError:  # the course works without it; `require_triton` says what is missing
    triton = tl = TensorDescriptor = None

    def jit(fn: Any) -> Any:
        """Stand in for `triton.jit`, so that the kernels can be imported without triton."""
        return fn

    constexpr = jit


def lacking() -> str | None:
    """Return what this machine lacks to run a kernel at all, and how to get it; None if nothing."""
    if triton is not None:
        return None
    return (
        "This needs triton, which is not installed. On Linux with an x86-64 processor it belongs "
        "to the course: `make learn` installs it. Elsewhere it does not exist."
    )


def require_triton() -> None:
    """Raise ImportError, with what to do about it, unless triton can be imported."""
    if triton is None:
        raise ImportError(lacking())


@contextmanager
def interpreter() -> Iterator[None]:
    """Let every `@triton.jit` function run in the interpreter, even where triton could compile it.

    What it replaces in triton is restored at the end, including what the interpreter itself forgets
    to restore: a GPU kernel can be compiled afterwards.
    """
    require_triton()
    classes = (JITFunction, InterpretedFunction)
    language = (tl, tl.core, tl.math, tl.tensor, tl.dtype, tl.core.tensor_descriptor_base)
    before = [(owner, dict(vars(owner))) for owner in (*classes, *language)]
    for kind in classes:
        kind.__call__, kind.run = _call, _launch
    JITFunction.__get__ = _bound
    builder = interpreter_semantic.builder
    options = builder.options
    # A GPU does not check integer sums for overflow by default either.
    builder.options = dataclasses.replace(options, sanitize_overflow=False)
    try:
        with np.errstate(all="ignore"):  # as silent as a GPU
            yield
    except InterpreterError as error:
        raise error.__cause__ or error from None
    finally:
        builder.options = options
        for owner, names in before:
            _put_back(owner, names)


def _launch(kernel: Any, *args: Any, grid: Any, warmup: bool = False, **options: Any) -> None:
    names = inspect.signature(kernel.fn).parameters
    GridExecutor(_rewritten(kernel.fn), list(names), grid)(*args, **options)


def _call(function: Any, *args: Any, **options: Any) -> Any:
    """Call from within a kernel; the interpreter's own way prepares the language every time."""
    return _rewritten(function.fn)(*args, **options)


@functools.cache
def _rewritten(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function as the interpreter runs it, with globals of its own to write into.

    Both modules are named there, so that the interpreter prepares both when a kernel starts.
    """
    names = {"tl": tl, "core": tl.core, "interpreter_semantic": interpreter_semantic}
    known = {**fn.__globals__, **inspect.getclosurevars(fn).nonlocals, **names}
    code = fn.__code__
    twin = types.FunctionType(code, known, code.co_name, fn.__defaults__, fn.__closure__)
    twin.__annotations__ = dict(fn.__annotations__)
    if code.co_name != "<lambda>" and code not in _CODES:  # lambdas need no rewriting
        _CODES[code] = FunctionRewriter(twin).rewrite_ast().__code__
    if _CODES.get(code, code) == code:
        return twin
    made = types.FunctionType(_CODES[code], known, code.co_name, fn.__defaults__)
    made.__annotations__ = twin.__annotations__
    return made


_CODES: dict[types.CodeType, types.CodeType] = {}  # by the code as written


def _bound(function: Any, instance: Any, owner: Any = None) -> Any:
    """Let `x.sum(1)` be `sum(x, 1)`, as the compiler does."""
    return function if instance is None else functools.partial(function, instance)


def _put_back(owner: Any, before: dict[str, Any]) -> None:
    for name in vars(owner).keys() - before.keys():
        delattr(owner, name)
    for name, value in before.items():
        if vars(owner).get(name) is not value:
            setattr(owner, name, value)


def interpreted(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function, decorated by `triton.jit` or not, as the interpreter runs it."""
    plain = getattr(fn, "fn", fn)
    return _rewritten.__wrapped__(plain) if inspect.isfunction(plain) else plain
