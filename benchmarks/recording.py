"""The frame of every script here: its options, its rows as they come, and the record it writes."""

import argparse
import datetime
import json
import platform
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import torch
from tqdm import tqdm

from benchmarks.timing import processor
from course_utils.environment import ROOT

RESULTS = ROOT / "course_utils" / "records"
Row = dict[str, Any]
T = TypeVar("T")


class Script:
    """One run of a script, on one thread.

    Each keyword is an option of its command line with the default, whose type it takes; a list
    takes several values, an empty one names, a tuple some of its own, and False is a switch.
    """

    def __init__(self, file: str, about: str | None, **defaults: Any) -> None:
        torch.set_num_threads(1)
        self.name, self.module = Path(file).stem, module(file)
        parser = argparse.ArgumentParser(
            description=about, formatter_class=argparse.RawDescriptionHelpFormatter
        )
        for name, default in {**defaults, "out": RESULTS}.items():
            kind: dict[str, Any] = {"type": type(default), "help": f"default {default}"}
            if default is False:
                kind = {"action": "store_true"}
            elif isinstance(default, list):
                kind |= {"type": type(default[0]) if default else str, "nargs": "+"}
            elif isinstance(default, tuple):
                kind = {"choices": default, "nargs": "+", "help": "default all"}
            parser.add_argument(f"--{name.replace('_', '-')}", default=default, **kind)
        self.options = parser.parse_args()
        self.path = Path(self.options.out, f"{self.name}.json")

    @property
    def command(self) -> str:
        """The command that repeats this run."""
        words = ["python", "-m", self.module]
        for name, value in vars(self.options).items():
            if name != "out" and value and not isinstance(value, tuple):
                values = value if isinstance(value, list) else [value] * (value is not True)
                words += [f"--{name.replace('_', '-')}", *map(str, values)]
        return shlex.join(words)

    def record(
        self,
        *,
        what: str,
        settings: Mapping[str, Any],
        runs: Sequence[Row],
        versions: Mapping[str, str] | None = None,
        machine: str = f"{platform.machine()}, 1 thread",
        **more: Sequence[Row],
    ) -> None:
        """Write one JSON file with one run per line, so that two records can be compared by eye."""
        own = {"python": platform.python_version(), "torch": torch.__version__}
        head = {
            "what": what,
            "command": self.command,
            "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
            "versions": {**own, **(versions or {})},
            "machine": machine,
            "settings": {**settings, "processor": processor()},
        }
        lines = [f" {json.dumps(name)}: {_compact(value)}" for name, value in head.items()]
        for name, rows in {**more, "runs": runs}.items():
            body = ",\n  ".join(_compact(row) for row in rows)
            lines.append(f" {json.dumps(name)}: [\n  {body}\n ]")
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def each(run: Callable[..., T], cases: Iterable[Sequence[Any]]) -> list[T]:
    """Return what every case comes to; each is printed as soon as it is known."""
    found = []
    for case in tqdm(list(cases), ncols=80):
        found.append(run(*case))
        tqdm.write(str(found[-1]))
    return found


def module(file: str) -> str:
    """Return the name by which `python -m` finds a file of the repository."""
    return ".".join(Path(file).resolve().relative_to(ROOT).with_suffix("").parts)


def apart(file: str, *arguments: str) -> Any:
    """Return what a script prints last, in JSON, in a process of its own."""
    command = [sys.executable, "-m", module(file), *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def rounded(values: torch.Tensor) -> Any:
    """Return nested lists rounded to three decimals."""
    return [rounded(one) for one in values] if values.dim() else round(values.item(), 3)


def bar(what: str) -> Callable[[Iterable[Any]], Iterable[Any]]:
    """Return a progress bar for a loop."""
    return partial(tqdm, desc=what, ncols=80, mininterval=1)


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
