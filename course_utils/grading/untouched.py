"""Notice whether any part of the judge was replaced: functions, their code, classes, data."""

import importlib
import sys
import types
from typing import Any

import torch
from torch.utils import _python_dispatch, flop_counter

from course_utils.checking.exercise import Exercise

_OF_THE_COURSE = ("course_utils.checking", "course_utils.measure", "course_utils.grading")
_OF_TORCH = (torch, torch.Tensor, torch.autograd, torch.overrides, torch.nn.functional,
             torch._C._TensorBase, _python_dispatch, flop_counter)  # fmt: skip


class Untouched:
    """A snapshot of every part of the judge."""

    def __init__(self, exercise: Exercise) -> None:
        importlib.import_module("torch._dynamo")  # which replaces torch.manual_seed as it is loaded
        self._owners: list[tuple[str, Any]] = []
        for name, module in list(sys.modules.items()):
            if name.startswith(_OF_THE_COURSE):
                self._add(name, module)
        for owner in _OF_TORCH:
            self._add(getattr(owner, "__name__", str(owner)), owner)
        parts = (exercise, *exercise.cases, *exercise.mistakes, *exercise.costs)
        self._owners += [(f"the exercise {exercise.name}", part) for part in parts]
        self._before = [_state(owner) for _, owner in self._owners]

    def _add(self, name: str, owner: Any) -> None:
        self._owners.append((name, owner))
        for value in list(vars(owner).values()):
            if isinstance(value, type) and value.__module__ == name:
                self._owners.append((f"{name}.{value.__name__}", value))

    def changes(self) -> list[str]:
        """Name what has changed. New names do not count: modules load others late."""
        return [
            f"{name}.{key}"
            for (name, owner), before in zip(self._owners, self._before, strict=True)
            for key, kept in before.items()
            if not _same(_state(owner, key).get(key), kept)
        ]


def _state(owner: Any, only: str | None = None) -> dict[str, tuple[Any, Any]]:
    """Return what an owner holds, and its functions' code, kept alive so that no id is reused."""
    held = vars(owner)
    keys = held if only is None else ([only] if only in held else [])
    return {key: (held[key], getattr(held[key], "__code__", None)) for key in keys}


def _same(now: tuple[Any, Any] | None, before: tuple[Any, Any]) -> bool:
    if isinstance(before[0], types.ModuleType):
        return True  # a module that is loaded lazily
    return now is not None and now[0] is before[0] and now[1] is before[1]
