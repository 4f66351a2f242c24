"""State that no call may change for good: torch itself, its settings, the random state."""

import builtins
import contextlib
import math
import operator
import random
import sys
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
import torch.autograd.forward_ad as forward_ad
import torch.nn.functional as functional
from torch.overrides import TorchFunctionMode

from course_utils.checking.settings import SETTINGS, Modes

_GUARDED: tuple[tuple[str, Any], ...] = (
    ("torch", torch),
    ("torch.nn.functional", functional),
    ("torch.nn", torch.nn),
    ("torch.linalg", torch.linalg),
    ("torch.special", torch.special),
    ("torch.autograd", torch.autograd),
    ("torch.testing", torch.testing),
    ("torch.Tensor", torch.Tensor),
    ("math", math),
    ("builtins", builtins),
)
_MISSING = object()
_TORCH = str(Path(torch.__file__).parent)


class GlobalState:
    """A snapshot of the global state, to be restored after a call, and after the next."""

    def __init__(self) -> None:
        self._names = {label: dict(vars(owner)) for label, owner in _GUARDED}
        self._random = (torch.get_rng_state(), random.getstate(), _numpy_state())
        self._settings = [setting.read() for setting in SETTINGS]
        self._modes = Modes()
        self._threads = torch.get_num_threads()

    def restore_settings(self) -> list[str]:
        """Restore torch's settings and its random state; name the settings that were changed."""
        changed = self._modes.restore()
        for setting, before in zip(SETTINGS, self._settings, strict=True):
            if setting.read() != before:
                setting.write(before)
                changed.append(setting.name)
        if torch.get_num_threads() != self._threads:
            torch.set_num_threads(self._threads)
        torch.set_rng_state(self._random[0])
        return changed

    def restore(self) -> tuple[tuple[str, ...], bool]:
        """Restore everything; name what was changed, and say whether a random state moved."""
        moved = self._random_moved()
        changed = self.restore_settings()
        for label, owner in _GUARDED:
            changed += self._repair(label, owner)
        random.setstate(self._random[1])
        if self._random[2] is not None:
            sys.modules["numpy"].random.set_state(self._random[2])
        return tuple(changed), moved

    def _random_moved(self) -> bool:
        own, python, before = self._random
        if random.getstate() != python or not torch.equal(torch.get_rng_state(), own):
            return True
        numpy = _numpy_state()
        return before is not None and (numpy[2] != before[2] or bool((numpy[1] != before[1]).any()))

    def _repair(self, label: str, owner: Any) -> list[str]:
        before, after = self._names[label], vars(owner)
        if len(after) == len(before) and all(map(operator.is_, after.values(), before.values())):
            return []
        # A new name in a module is a lazy import; in a class it hides an inherited method.
        new = [] if isinstance(owner, ModuleType) else [n for n in after if n not in before]
        wrong = [n for n, was in before.items() if not _is_same(after.get(n, _MISSING), was)]
        for name in new:
            delattr(owner, name)
        for name in wrong:
            setattr(owner, name, before[name])
        self._names[label] = dict(after)
        # A module that was there before has only been loaded lazily.
        changed = [n for n in (*new, *wrong) if not isinstance(before.get(n), ModuleType)]
        return [f"{label}.{name}" for name in changed]


_shared: ContextVar[GlobalState | None] = ContextVar("_shared", default=None)


@contextlib.contextmanager
def shared_snapshot() -> Iterator[None]:
    """Let the calls inside share one snapshot, which only they may disturb: taking one is slow."""
    token = _shared.set(GlobalState())
    try:
        yield
    finally:
        _shared.reset(token)


@contextlib.contextmanager
def snapshot() -> Iterator[GlobalState]:
    """Give the snapshot for one call: the shared one, but a call inside the call takes its own."""
    state = _shared.get() or GlobalState()
    token = _shared.set(None)
    try:
        yield state
    finally:
        _shared.reset(token)


def _is_same(now: Any, was: Any) -> bool:
    """Return whether a name holds what it held; torch wraps some of its functions on an import."""
    if now is was:
        return True
    made_in = getattr(getattr(now, "__code__", None), "co_filename", "")
    return getattr(now, "__wrapped__", None) is was and made_in.startswith(_TORCH)


def _numpy_state() -> Any:
    numpy = sys.modules.get("numpy")
    return None if numpy is None else numpy.random.get_state()


class Recorder(TorchFunctionMode):
    """Notes the names of the torch functions that are called, and whether autograd ran."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: set[str] = set()
        self.used_autograd = False

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> object:
        self.calls.add(getattr(func, "__name__", ""))
        return func(*args, **kwargs) if kwargs else func(*args)

    def __enter__(self) -> "Recorder":
        # Every way to a derivative ends in one of these names, which Python looks up at each call.
        self._entry_points: list[tuple[Any, str, Callable[..., Any]]] = []
        for owner, name in (
            (torch.autograd, "_engine_run_backward"),
            (torch.autograd.graph, "_engine_run_backward"),
            (forward_ad, "make_dual"),
        ):
            self._entry_points.append((owner, name, getattr(owner, name)))
            setattr(owner, name, self._noting(getattr(owner, name)))
        super().__enter__()  # type: ignore[no-untyped-call]
        return self

    def __exit__(self, *exc: Any) -> None:
        super().__exit__(*exc)  # type: ignore[no-untyped-call]
        for owner, name, original in self._entry_points:
            setattr(owner, name, original)

    def _noting(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def noted(*args: Any, **kwargs: Any) -> Any:
            self.used_autograd = True
            return original(*args, **kwargs)

        return noted
