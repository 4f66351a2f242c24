"""Answers that passed, kept as files that their writer can open and import.

They lie in a folder beside the journal, one file an exercise. A file is never overwritten without a
copy: an earlier, different text is kept as NAME_1.py, NAME_2.py, and so on.
"""

import linecache
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import cloudpickle
from filelock import FileLock, Timeout

from course_utils.answers.literals import NoTextError
from course_utils.answers.source import module_source
from course_utils.checking.progress import journal_path


def folder() -> Path:
    """Return where the answers are: beside the journal, and under its name."""
    journal = journal_path()
    return journal.with_name(f"{journal.stem}_answers")


def kept_path(exercise: str) -> Path:
    """Return where the answer to an exercise is kept, or would be."""
    return folder() / f"{exercise}.py"


def older_paths(exercise: str) -> list[Path]:
    """Return the copies of what was kept before, the oldest first."""
    numbered = re.compile(rf"{re.escape(exercise)}_(\d+)\.py")
    found = {
        int(match[1]): path
        for path in folder().glob(f"{exercise}_*.py")
        if (match := numbered.fullmatch(path.name))
    }
    return [found[number] for number in sorted(found)]


def keep(exercise: str, chapter: int, answer: Any) -> str | None:
    """Keep an answer that passed; if that is impossible, return a sentence that says why."""
    stays = " The one kept before stays." if kept_path(exercise).is_file() else ""
    try:
        text = f'"""My answer to `{exercise}` of chapter {chapter:02d}."""\n\n'
        text += module_source(answer, exercise)
        _function(exercise, text, "<what would be kept>")
    except NoTextError as reason:
        return f"This answer is not kept as a file: {reason}.{stays}"
    except Exception as error:  # a learner's own lines may raise anything
        return f"This answer is not kept as a file: alone, it stops with {_told(error)}.{stays}"
    try:
        _write(exercise, text)
    except (OSError, Timeout) as error:
        return f"This answer is not kept as a file: {folder()} cannot be written ({error})."
    return None


def load(exercise: str) -> Callable[..., Any]:
    """Run the file kept for an exercise and return the function it defines.

    Raises:
        ImportError: It cannot be read, it stops with an error, or it defines no such function.
    """
    path = kept_path(exercise)
    linecache.checkcache(str(path))
    try:
        return _function(exercise, path.read_text(encoding="utf-8"), str(path))
    except (Exception, SystemExit) as error:
        raise ImportError(_told(error)) from error


def _function(exercise: str, text: str, file: str) -> Callable[..., Any]:
    # Compiled here: Python's own import would write a cache beside the file, and might read it when
    # the file is newer by less than a second.
    module = ModuleType(f"my_{exercise}")
    module.__file__ = file
    sys.modules[module.__name__] = module  # dataclasses and pickle look their module up
    cloudpickle.register_pickle_by_value(module)  # another process has no such module
    exec(compile(text, file, "exec"), vars(module))
    made = vars(module).get(exercise)
    if not callable(made):
        raise ImportError(f"it defines no function {exercise}")
    return made


def _write(exercise: str, text: str) -> None:
    path = kept_path(exercise)
    path.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(path.parent / ".lock", timeout=5):
        if path.exists():
            if path.read_bytes() == text.encode():
                return
            copies = older_paths(exercise)
            number = 1 + (int(copies[-1].stem.rpartition("_")[2]) if copies else 0)
            path.with_name(f"{exercise}_{number}.py").write_bytes(path.read_bytes())
        made = path.with_suffix(".new")  # nothing else writes it: the lock is held
        with made.open("wb") as file:
            file.write(text.encode())
            file.flush()
            os.fsync(file.fileno())
        made.replace(path)


def _told(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".strip().splitlines()[0]
