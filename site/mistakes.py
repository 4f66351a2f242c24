"""The table of mistakes: what the checker says of every wrong version that an exercise ships.

To judge them all takes minutes, so the verdicts are kept in `mistakes.json`, as the outputs of a
chapter are kept in its notebook. A build judges again what changed: `refresh` compares a digest
of each chapter's exercises with the one that its verdicts were made from.
"""

import ast
import hashlib
import json
import subprocess
import sys
from collections.abc import Iterable, Iterator
from html import escape
from pathlib import Path
from typing import Any

from blocks import block, code_words, table

ROOT = Path(__file__).resolve().parent.parent
KEPT = ROOT / "site" / "mistakes.json"
Verdicts = dict[str, Any]
_PACKAGE = "course_utils.exercises."


def refresh(numbers: Iterable[str]) -> Verdicts:
    """Return the verdicts on the exercises of some chapters, judging what changed.

    Args:
        numbers: The chapters, as "03".

    Raises:
        ChildProcessError: An exercise could not be judged; the message says why.
    """
    from course_utils.exercises import all_exercises

    kept: Verdicts = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.is_file() else {}
    found: Verdicts = {}
    for number in numbers:
        own = {e.name: _digest(e) for e in all_exercises() if f"{e.chapter:02}" == number}
        changed = [n for n, digest in own.items() if kept.get(n, {}).get("digest") != digest]
        if changed:
            judged = _judged(number, changed)
            kept |= {n: {"digest": own[n], "mistakes": judged[n]} for n in changed}
            known = [e.name for e in all_exercises() if e.name in kept]
            KEPT.write_text(_text({name: kept[name] for name in known}), encoding="utf-8")
        if own:
            found[number] = {name: kept[name]["mistakes"] for name in own}
    return found


def _digest(exercise: Any) -> str:
    """Return a digest of an exercise's file and of all it imports from the exercises."""
    folder = ROOT / "course_utils" / "exercises"
    waiting = list(folder.glob(f"ch{exercise.chapter:02}_*/{exercise.name}.py"))
    read: dict[Path, bytes] = {}
    while waiting:
        path = waiting.pop()
        if path not in read and path.is_file():
            read[path] = path.read_bytes()
            waiting += _imported(ast.parse(read[path]), folder)
    parts = [path.name.encode() + b"\0" + read[path] for path in sorted(read)]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]


def _imported(tree: ast.Module, folder: Path) -> Iterator[Path]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(_PACKAGE):
            place = folder.joinpath(*str(node.module).removeprefix(_PACKAGE).split("."))
            yield place.with_suffix(".py")
            yield from (place / f"{name.name}.py" for name in node.names)


def _judged(number: str, names: list[str]) -> Verdicts:
    print(f"judging the mistakes of chapter {number} ({len(names)} exercises) ...", flush=True)
    done = subprocess.run(
        [sys.executable, "-m", "tools.mutants", "--json", *names],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        raise ChildProcessError(f"the mistakes of chapter {number}: {done.stderr}")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    return {name: [row[1:] for row in rows if row[0] == name] for name in names}


def _text(kept: Verdicts) -> str:
    """Return the record as JSON with a line for each mistake, so that a change can be read."""
    parts = []
    for name, record in kept.items():
        rows = ",\n".join(f"  {json.dumps(r, ensure_ascii=False)}" for r in record["mistakes"])
        digest = json.dumps(record["digest"])
        parts.append(f'{json.dumps(name)}: {{"digest": {digest}, "mistakes": [\n{rows}\n]}}')
    return "{\n" + ",\n".join(parts) + "\n}\n"


def markdown(verdicts: Verdicts, titles: dict[str, str]) -> str:
    """Return the page's part: a section for each chapter, a folded table for each exercise.

    Args:
        verdicts: For each chapter and exercise, rows of a mistake's name, its versions, how many
            are caught, how many as this mistake, and as what else.
        titles: What each chapter is called.
    """
    rows = [row for chapter in verdicts.values() for part in chapter.values() for row in part]
    exercises = sum(len(chapter) for chapter in verdicts.values())
    parts = [f"{exercises} exercises, {_counted(rows)}."]
    for number, chapter in verdicts.items():
        parts.append(f"## {titles[number]}")
        parts.append(f"{_counted([row for part in chapter.values() for row in part])}.")
        parts += [_folded(name, part) for name, part in chapter.items()]
    return "\n\n".join(parts)


def _counted(rows: list[Any]) -> str:
    versions, caught, named = (sum(row[column] for row in rows) for column in (1, 2, 3))
    return f"{len(rows):,} mistakes in {versions:,} versions: {caught:,} caught, {named:,} by name"


def _folded(name: str, rows: list[Any]) -> str:
    cells = [
        (code_words(mistake), str(versions), "by its name" if said == mistake else escape(said))
        for mistake, versions, _, _, said in rows
    ]
    head = f"<summary><code>{escape(name)}</code>: {len(rows)} mistakes</summary>"
    return block(
        '<details class="look-up">',
        head,
        table(("Mistake", "Versions", "Named"), cells),
        "</details>",
    )
