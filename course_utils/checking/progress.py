"""A learner's progress: a journal that only ever grows, in the learner's own data folder.

Every event is one line of JSON, appended under a lock: two kernels may write at once, and after a
crash at most the last line is torn, which is then skipped. No update of the course touches it.
"""

import functools
import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import platformdirs
from filelock import FileLock, Timeout

VARIABLE = "ATTENTION_COURSE_PROGRESS"


def journal_path() -> Path:
    """Return the journal's path: what the environment variable names, or the data folder."""
    named = os.environ.get(VARIABLE)
    if named:
        return Path(named).expanduser()
    return Path(platformdirs.user_data_dir("attention-course", appauthor=False)) / "progress.jsonl"


def json_lines(path: Path) -> Iterator[dict[str, Any]]:
    """Return the objects of a file with one per line; what is torn or foreign is skipped."""
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            found = json.loads(line)
        except ValueError:
            continue
        if isinstance(found, dict):
            yield found


class Journal:
    """The events so far, and a way to add one."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path or journal_path()

    def add(self, event: str, exercise: str, **more: Any) -> None:
        """Append an event; if that is impossible, say so once and go on."""
        entry = {"time": round(time.time()), "event": event, "exercise": exercise, **more}
        line = json.dumps(entry, ensure_ascii=False) + "\n"
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with FileLock(f"{self.path}.lock", timeout=5), self.path.open("ab") as file:
                if file.tell() and not self._ends_with_newline():
                    file.write(b"\n")
                file.write(line.encode())
                file.flush()
                os.fsync(file.fileno())
        except (OSError, Timeout) as error:
            _say_once(f"Progress is not being recorded: {self.path} cannot be written ({error}).")

    def _ends_with_newline(self) -> bool:
        with self.path.open("rb") as file:
            file.seek(-1, os.SEEK_END)
            return file.read(1) == b"\n"

    def events(self) -> Iterator[dict[str, Any]]:
        """Return all whole events, oldest first; torn or foreign lines are skipped."""
        with suppress(OSError):  # it does not exist yet, or cannot be read
            yield from (e for e in json_lines(self.path) if isinstance(e.get("exercise"), str))

    def count(self, event: str, exercise: str) -> int:
        """Count the events of a kind for an exercise."""
        return sum(e.get("event") == event and e["exercise"] == exercise for e in self.events())

    def failed(self, exercise: str) -> int:
        """Count the answers to an exercise that did not pass, untouched stubs left out."""
        untold = ("passed", "not_attempted")
        checks = (e for e in self.events() if e.get("event") == "check")
        return sum(e["exercise"] == exercise and e.get("status") not in untold for e in checks)

    def attempted(self, exercise: str) -> bool:
        """Return whether anything but an untouched stub was ever checked."""
        return self.states().get(exercise, "not attempted") != "not attempted"

    def open_exercise(self) -> str | None:
        """Return the exercise that was checked last and is not passed yet, if there is one."""
        tried = [name for name, state in self.states().items() if state == "tried"]
        checked = [e["exercise"] for e in self.events() if e.get("event") == "check"]
        return next((name for name in reversed(checked) if name in tried), None)

    def states(self) -> dict[str, str]:
        """Return "passed", "tried" or "not attempted" for every exercise seen; passed stays."""
        states: dict[str, str] = {}
        for event in self.events():
            if event.get("event") != "check":
                continue
            name, status = event["exercise"], event.get("status")
            if status == "passed":
                states[name] = "passed"
            elif status != "not_attempted" and states.get(name) != "passed":
                states[name] = "tried"
        return states


@functools.cache
def _say_once(text: str) -> None:
    print(text, file=sys.stderr)
