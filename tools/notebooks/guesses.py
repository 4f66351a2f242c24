"""Read what was measured off a chapter's outputs, for each guess that its source asks for."""

import json
from collections.abc import Iterator, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any

from nbformat import NotebookNode

from course_utils.guessing.known import digest
from course_utils.guessing.question import Question, truth, varied_truth
from tools.notebooks.files import read_stored
from tools.notebooks.source import Cell, Chapter

Row = tuple[Cell, list[NotebookNode]]  # a cell and its outputs
KEY = "guess"  # of a cell's header
FILE = "course_utils/guessing/guesses.json"


def questions(chapter: Chapter, solved: NotebookNode) -> Iterator[dict[str, Any]]:
    """Yield each question of a chapter as `guesses.json` holds it.

    Args:
        chapter: The source.
        solved: Its solutions notebook, executed.

    Raises:
        ValueError: A question is not one, or its answer is nowhere in the cells behind it.
    """
    outputs = iter([cell.get("outputs", []) for cell in solved.cells if cell.cell_type == "code"])
    cells: list[Row] = [
        (one, next(outputs, []) if one.kind == "code" else []) for one in chapter.cells
    ]
    for at, (cell, _) in enumerate(cells):
        if KEY in cell.metadata:
            try:
                yield _question(cell, cells[at + 1 :], chapter)
            except (ValueError, TypeError, LookupError) as error:
                raise ValueError(f"{chapter.file}:{cell.line}: {error}") from None


def _question(cell: Cell, after: Sequence[Row], chapter: Chapter) -> dict[str, Any]:
    said = dict(cell.metadata[KEY])
    question = Question(**said)
    if question.name[:2] != chapter.name[:2] or cell.source != f'guess("{question.name}")':
        raise ValueError(f'the cell must be guess("{chapter.name[:2]}.word") of the header\'s name')
    problem: Exception = LookupError("no code cell follows in this section")
    for next_cell, outputs in takewhile(_same_section, after):
        if next_cell.kind != "code":
            continue
        try:
            found = truth(question, _printed(outputs))
        except LookupError as error:
            problem = error
            continue
        if question.varied and abs(varied_truth(question, 0) - float(found)) > 1e-3 * abs(found):  # type: ignore[arg-type]
            raise ValueError(f"becomes gives {varied_truth(question, 0)}, measured was {found}")
        return {**said, "truth": found, "cell": digest(next_cell.source)}
    raise problem


def _same_section(row: Row) -> bool:
    cell, _ = row
    return KEY not in cell.metadata and not (cell.kind != "code" and cell.source[:3] == "## ")


def _printed(outputs: Sequence[NotebookNode]) -> str:
    return "\n".join(
        str(output.get("text", output.get("data", {}).get("text/plain", ""))) for output in outputs
    )


def _text(rows: Sequence[dict[str, Any]]) -> str:
    """Return the file's text, a question a line."""
    lines = ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    return f"[\n{lines}\n]\n"


def _rows(root: Path, chapters: Sequence[Chapter]) -> list[dict[str, Any]]:
    """Return the questions of these chapters, and the stored ones of all others, in order."""
    path, numbers = root / FILE, {chapter.name[:2] for chapter in chapters}
    stored = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else []
    rows = [row for row in stored if row["name"][:2] not in numbers]
    for chapter in chapters:
        solved = read_stored(root / "solutions" / f"{chapter.name}.ipynb")
        rows += questions(chapter, solved) if solved is not None else []
    return sorted(rows, key=lambda row: row["name"][:2])  # of a chapter, as they stand there


def write(root: Path, chapters: Sequence[Chapter]) -> Iterator[str]:
    """Write the questions of these chapters into their file, and say so if it changed.

    Raises:
        ValueError: A question is not one, or its answer is nowhere in the cells behind it.
    """
    path, text = root / FILE, _text(_rows(root, chapters))
    if path.parent.is_dir() and (not path.is_file() or path.read_text(encoding="utf-8") != text):
        path.write_text(text, encoding="utf-8")
        yield f"{FILE} written"


def faults(root: Path, chapters: Sequence[Chapter]) -> Iterator[str]:
    """Yield what is wrong with the questions that are stored."""
    path = root / FILE
    try:
        rows = _rows(root, chapters)
    except ValueError as error:
        yield str(error)
        return
    names = [row["name"] for row in rows]
    yield from (f"two guesses are named {name}" for name in names if names.count(name) > 1)
    if path.is_file() and path.read_text(encoding="utf-8") != _text(rows):
        yield f"{FILE}: not what the chapters say; run `make notebooks`"
