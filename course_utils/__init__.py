"""The names that a learner imports. Nothing heavy is loaded before it is used."""

from __future__ import annotations

import importlib

TYPE_CHECKING = False  # as in `typing`, which takes longer to load than everything else here
if TYPE_CHECKING:
    from course_utils.conversation.opening import chat
    from course_utils.learner import (
        check,
        dispute,
        guess,
        hint,
        mine,
        progress,
        review,
        solution,
        yours,
    )
    from course_utils.widgets import heatmap

__all__ = [
    "chat", "check", "dispute", "guess", "heatmap", "hint", "mine", "progress", "review",
    "solution", "yours",
]  # fmt: skip

_HOME = dict.fromkeys(__all__, "course_utils.learner")
_HOME |= {
    "chat": "course_utils.conversation.opening",
    "heatmap": "course_utils.widgets",
}


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module 'course_utils' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
