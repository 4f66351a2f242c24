"""Change each exercise's reference at every place in turn, and count what the checkers catch.

python -m tools.mutation.run              all exercises
python -m tools.mutation.run NAME ...     some exercises only
python -m tools.mutation.run --json FILE  writes the counts and the survivors to a file, too;
                                          where some are named, the file keeps its other rows

A change that a checker lets pass is compared with the reference on inputs that the checker never
sees. `equal.yml` says of every survivor why it may pass. The exit status is 1 where one
has no reason, where a reason has no survivor any more, or where too few changes are caught.
"""

import argparse
import functools
import itertools
import json
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

import torch
import yaml

from course_utils.checking.judge import judge
from course_utils.exercises import all_exercises, find
from tools.mutation.each_exercise import each_exercise, named
from tools.mutation.generate import Mutation, mutations
from tools.mutation.unseen_inputs import Inputs

REASONS = Path(__file__).with_name("equal.yml")
GOAL = 0.99


@dataclass(frozen=True)
class Survivor:
    """A change that a checker lets pass.

    Attributes:
        change: What was changed, in one line.
        line: The statement that holds it, where the reference never runs it on any input tried.
        differs: On which input it differs from the reference; empty where none was found.
        reason: Why it may pass; empty where nobody has said.
    """

    change: str
    line: str
    differs: str
    reason: str


@dataclass(frozen=True)
class Row:
    """The fate of the changes of one reference."""

    exercise: str
    chapter: int
    made: int
    caught: int
    survivors: tuple[Survivor, ...]

    @property
    def missed(self) -> int:
        """The number of changes that the checker lets pass."""
        return sum(bool(survivor.differs) for survivor in self.survivors)


@dataclass(frozen=True)
class Reasons:
    """Reasons that `equal.yml` gives for one exercise, or for any.

    Attributes:
        changes: Why a change, or a line that is never run, may pass.
        statements: Why other changes of a statement may pass, and how many.
    """

    changes: dict[str, str] = field(default_factory=dict)
    statements: dict[str, tuple[str, int]] = field(default_factory=dict)


@functools.cache
def reasons() -> dict[str, Reasons]:
    """Return why known survivors may pass, by exercise."""
    found: dict[str, Reasons] = defaultdict(Reasons)
    for names, groups in yaml.safe_load(REASONS.read_text(encoding="utf-8")).items():
        for name, group in itertools.product(names.split(", "), groups):
            because, known = group["because"], found[name]
            for key in (*group.get("changes", ()), *group.get("never_run", ())):
                known.changes[key] = because
            for statement, count in group.get("statements", {}).items():
                known.statements[statement] = because, count
    return dict(found)


def explained(name: str, key: str, differs: str) -> tuple[str, str]:
    """Return which entry explains a survivor, and why it may pass; both are empty if none does.

    Args:
        name: The exercise.
        key: The change, or the line that is never run.
        differs: On which input it differs.
    """
    known = reasons().get(name, Reasons())
    if key in known.changes:
        return key, known.changes[key]
    for pattern, because in () if differs else reasons()["any"].changes.items():
        if re.fullmatch(pattern, key):
            return pattern, because
    for statement, (because, _) in known.statements.items():
        if key.endswith(f" in {statement}") or key.startswith(f"{statement} -> "):
            return statement, because
    return "", ""


def row(name: str) -> Row:
    """Judge every change of an exercise's reference."""
    exercise = find(name)
    made = list(mutations(exercise.reference))
    passed = [change for change in made if judge(exercise, change.function).passed]
    inputs = Inputs(exercise)
    survivors = tuple(_survivor(inputs, change) for change in passed)
    return Row(exercise.name, exercise.chapter, len(made), len(made) - len(passed), survivors)


def _survivor(inputs: Inputs, change: Mutation) -> Survivor:
    line = "" if inputs.reaches(change.span) else change.line
    differs = "" if line else inputs.difference(change.function) or ""
    _, reason = explained(inputs.exercise.name, line or change.name, differs)
    return Survivor(change.name, line, differs, reason)


def rate(rows: list[Row]) -> float:
    """Return which share of the changes that change the function is caught."""
    caught = sum(row.caught for row in rows)
    return caught / max(1, caught + sum(row.missed for row in rows))


def troubles(rows: list[Row]) -> Iterator[str]:
    """Yield what is wrong with the rows, or with the reasons given for them."""
    for one in rows:
        unexplained = [survivor for survivor in one.survivors if not survivor.reason]
        for line in dict.fromkeys(survivor.line for survivor in unexplained if survivor.line):
            yield f"{one.exercise}: never runs: {line}"
        for survivor in unexplained:
            if not survivor.line:
                where = survivor.differs and f"; differs on: {survivor.differs}"
                yield f"{one.exercise}: survives: {survivor.change}{where}"
        known = reasons().get(one.exercise, Reasons())
        alive = Counter(
            explained(one.exercise, survivor.line or survivor.change, survivor.differs)[0]
            for survivor in one.survivors
        )
        for change in known.changes.keys() - alive:
            yield f"{one.exercise}: {change}: has a reason, but does not survive"
        for statement, (_, count) in known.statements.items():
            if alive[statement] != count:
                yield f"{one.exercise}: {statement}: {alive[statement]} survive, not {count}"
    if rate(rows) < GOAL:
        yield f"{rate(rows):.2%} of the changes are caught, below {GOAL:.0%}"


def shown(one: Row) -> str:
    """Format a row as text."""
    equal = len(one.survivors) - one.missed
    return f"{one.exercise:32}{one.made:8}{one.caught:8}{equal:8}{one.missed:8}"


def main(arguments: list[str] | None = None) -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("names", nargs="*", help="exercises; all if none is named")
    parser.add_argument("--json", type=Path, help="write the rows to this file, too")
    options = parser.parse_args(arguments)
    chosen = named(parser, options.names)
    print(f"{'exercise':32}{'changes':>8}{'caught':>8}{'equal':>8}{'missed':>8}")
    rows: list[Row] = []
    names = [one.name for one in chosen if not (one.lacks and one.lacks())]
    for one in each_exercise(row, names):
        rows.append(one)
        print(shown(one), flush=True)
    print("\n" + summary(rows))
    if options.json:
        kept = {}
        if options.names and options.json.exists():
            stored = json.loads(options.json.read_text(encoding="utf-8"))["rows"]
            kept = {one["exercise"]: one for one in stored}
        options.json.write_text(record(rows, kept), encoding="utf-8")
    found = list(troubles(rows))
    print("\n".join(found), file=sys.stderr)
    return 1 if found else 0


def record(rows: list[Row], kept: dict[str, Any]) -> str:
    """Return the rows as JSON, with how they were made; the site shows them.

    Args:
        rows: What was counted.
        kept: Rows of exercises that were not, by name.
    """
    known = kept | {one.exercise: asdict(one) for one in rows}
    parts = [
        json.dumps(known[one.name], ensure_ascii=False)
        for one in all_exercises()
        if one.name in known
    ]
    made = {
        "what": "changes of the references' source, and which of them the checkers let pass",
        "command": "python -m tools.mutation.run --json book/unlisted.json",
        "date": date.today().isoformat(),
        "versions": {"torch": torch.__version__.partition("+")[0]},
    }
    head = json.dumps(made, ensure_ascii=False, indent=1).removesuffix("\n}")
    return head + ',\n "rows": [\n  ' + ",\n  ".join(parts) + "\n ]\n}\n"


def summary(rows: list[Row]) -> str:
    """Say in one sentence what was counted."""
    made = sum(one.made for one in rows)
    caught = sum(one.caught for one in rows)
    missed = sum(one.missed for one in rows)
    return (
        f"{len(rows)} exercises, {made} changes: {caught} caught, {missed} missed "
        f"({rate(rows):.2%} caught), {made - caught - missed} equal on all inputs tried."
    )


if __name__ == "__main__":
    sys.exit(main())
