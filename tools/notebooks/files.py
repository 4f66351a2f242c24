"""The two notebook files of a chapter: write them, or say how they differ from the source."""

import re
from collections.abc import Iterator
from pathlib import Path

from nbformat import NotebookNode

from tools.notebooks.made import from_text, learner_notebook, solution_notebook, to_text
from tools.notebooks.outputs import (
    carry_outputs,
    describe,
    keep_varying,
    normalise,
    output_faults,
)
from tools.notebooks.run import NotebookError, execute
from tools.notebooks.source import Chapter

_NAME = re.compile(r"^\d\d_[a-z0-9_]+$")
_COMPARED = ("cell_type", "source", "metadata", "id")
_COMMAND = "python -m tools.build_notebooks"


def find_sources(root: Path) -> list[Path]:
    """Return the sources of all chapters, in order."""
    return sorted(p for p in (root / "solutions").glob("*.py") if _NAME.match(p.stem))


def sources_by_number(root: Path) -> dict[str, Path]:
    """Return the source of each chapter by its number, such as 03."""
    return {path.stem[:2]: path for path in find_sources(root)}


def stray(root: Path) -> list[str]:
    """Return a message for every file that belongs to no chapter."""
    known = {path.stem for path in find_sources(root)}
    says = {
        "solutions/*.py": "a source must be named NN_topic.py, in lower case",
        "notebooks/*.ipynb": "there is no solutions/{}.py; remove it or move it away",
        "solutions/*.ipynb": "there is no solutions/{}.py; remove it or move it away",
    }
    return [
        f"{path.relative_to(root)}: {said.format(path.stem)}"
        for pattern, said in says.items()
        for path in sorted(root.glob(pattern))
        if path.stem not in known
    ]


def build(
    root: Path, chapter: Chapter, force: bool, overwrite: bool, timeout: int
) -> Iterator[str]:
    """Write both notebooks of a chapter where they changed, and yield what was done.

    Args:
        root: The folder that holds `notebooks` and `solutions`.
        chapter: The source, free of faults.
        force: Execute even where the stored outputs still belong to the code.
        overwrite: Replace a learner's notebook even if somebody worked in it.
        timeout: Seconds that one cell may take.

    Raises:
        NotebookError: A cell failed, its output cannot stay, or the learner's notebook holds work.
            Nothing is written then.
    """
    solved_path, learner_path = _paths(root, chapter)
    learner = learner_notebook(chapter)
    stored = read_stored(learner_path)
    if stored is not None and not overwrite and any(_worked_in(stored)):
        raise NotebookError(
            f"{learner_path.relative_to(root)}: {next(_worked_in(stored))}: somebody worked in it. "
            "Move it away, or replace it with --overwrite."
        )
    solved = solution_notebook(chapter)
    earlier = read_stored(solved_path)
    kept = earlier is not None and carry_outputs(earlier, solved)
    if force or not kept or any(output_faults(solved, root)):
        yield f"executing {solved_path.relative_to(root)} ..."
        solved = _executed(root, chapter, timeout)
        if earlier is not None and not force:
            keep_varying(earlier, solved)
    for path, notebook in ((solved_path, solved), (learner_path, learner)):
        changed = _write(path, to_text(notebook))
        yield f"{path.relative_to(root)} {'written' if changed else 'up to date'}"


def _executed(root: Path, chapter: Chapter, timeout: int) -> NotebookNode:
    notebook = solution_notebook(chapter)
    language = notebook.metadata["language_info"]
    execute(notebook, chapter, root / "solutions", timeout)
    notebook.metadata["language_info"] = language
    normalise(notebook, chapter.name)
    found = [f"{chapter.file}: {fault}" for fault in output_faults(notebook, root)]
    if found:
        raise NotebookError("\n".join(found))
    return notebook


def check(root: Path, chapter: Chapter) -> list[str]:
    """Return a message for every way in which the notebooks are not what the source gives."""
    solved_path, learner_path = _paths(root, chapter)
    command = f"{_COMMAND} {chapter.name}"
    remedy = f"run `{command}`"
    found: list[str] = []
    for path in (solved_path, learner_path):
        stored = read_stored(path)
        name = path.relative_to(root)
        if stored is None:
            found.append(f"{name}: missing or unreadable; {remedy}")
            continue
        if path == learner_path:
            expected, faults = learner_notebook(chapter), list(_worked_in(stored))
            again = f"keep what is yours, then run `{command} --overwrite`"
        else:
            expected, faults = solution_notebook(chapter), list(output_faults(stored, root))
            carry_outputs(stored, expected)
            again = remedy
        found += [f"{name}: {fault}; {again}" for fault in faults]
        if path.read_text(encoding="utf-8") != to_text(expected):
            differs = _first_difference(stored, expected)
            if differs or not faults:
                found.append(f"{name}: stale, {differs or 'its form differs'}; {remedy}")
    return found


def _paths(root: Path, chapter: Chapter) -> tuple[Path, Path]:
    file = f"{chapter.name}.ipynb"
    return root / "solutions" / file, root / "notebooks" / file


def read_stored(path: Path) -> NotebookNode | None:
    """Return the notebook in a file, None where there is none that can be read."""
    try:
        return from_text(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def _worked_in(notebook: NotebookNode) -> Iterator[str]:
    for index, cell in enumerate(notebook.cells):
        if cell.get("outputs") or cell.get("execution_count") is not None:
            yield f"{describe(notebook, index)} was executed"


def _first_difference(stored: NotebookNode, expected: NotebookNode) -> str | None:
    """Return the first cell whose text, kind or metadata is not the expected one."""
    for index, cell in enumerate(expected.cells):
        if index >= len(stored.cells):
            return f"{describe(expected, index)} is missing"
        found = stored.cells[index]
        if any(found.get(key) != cell.get(key) for key in _COMPARED):
            return f"{describe(expected, index)} differs"
    if len(stored.cells) > len(expected.cells):
        return f"{describe(stored, len(expected.cells))} is not in the source"
    return None if stored.metadata == expected.metadata else "the notebook's metadata differs"


def _write(path: Path, text: str) -> bool:
    """Write a file in one step, if its content changes; return whether it did."""
    if path.is_file() and path.read_text(encoding="utf-8") == text:
        return False
    path.parent.mkdir(exist_ok=True)
    partial = path.with_suffix(".ipynb.part")
    partial.write_text(text, encoding="utf-8")
    partial.replace(path)
    return True
