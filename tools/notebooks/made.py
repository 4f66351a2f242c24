"""Make a chapter's two notebooks from its source: the solutions' and the learner's."""

import hashlib
from collections.abc import Callable, Iterator
from typing import Any

import nbformat as _untyped
from nbformat import NotebookNode

from tools.notebooks.minutes import FURTHER
from tools.notebooks.source import Cell, Chapter

_nbformat: Any = _untyped  # its functions carry no types
_METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
_UNGRADED = {"schema_version": 3, "grade": False, "solution": False, "locked": False, "task": False}


def solution_notebook(chapter: Chapter) -> NotebookNode:
    """Return the notebook with every solution in place between its marks, not yet executed.

    With the marks and the cells' metadata, nbgrader takes it for the source of an assignment.
    """
    return _notebook(chapter, lambda cell: cell.source)


def learner_notebook(chapter: Chapter) -> NotebookNode:
    """Return the notebook with stubs for solutions and without the cells tagged `solution`.

    JupyterLab opens it with its further sections folded.
    """
    notebook = _notebook(chapter, lambda cell: None if "solution" in cell.tags else cell.stubbed())
    for cell in notebook.cells:
        if FURTHER in cell.metadata.get("tags", []):
            cell.metadata["jp-MarkdownHeadingCollapsed"] = True  # JupyterLab's own mark
    return notebook


def to_text(notebook: NotebookNode) -> str:
    """Return the text of a notebook's file, the same for the same content."""
    return str(_nbformat.writes(notebook, version=4)).rstrip("\n") + "\n"


def from_text(text: str) -> NotebookNode:
    """Read the text of a notebook's file.

    Raises:
        ValueError: The text is not a notebook.
    """
    try:
        notebook: NotebookNode = _nbformat.reads(text, as_version=4)
    except (AttributeError, KeyError, TypeError, _nbformat.ValidationError) as error:
        raise ValueError(f"the text must be a notebook's, got {error}") from error
    return notebook


def _graded(chapter: Chapter) -> Iterator[tuple[Cell, dict[str, Any]]]:
    """Yield each cell with its metadata, and nbgrader's for an exercise and for its check."""
    asked: str | None = None
    for cell in chapter.cells:
        metadata = dict(cell.metadata)
        if cell.exercise is not None:
            metadata["nbgrader"] = _UNGRADED | {"grade_id": cell.exercise, "solution": True}
            asked = cell.exercise
        elif asked is not None and cell.kind == "code":
            more = {"grade": True, "locked": True, "points": chapter.asked[asked].points}
            metadata["nbgrader"] = _UNGRADED | {"grade_id": f"check-{asked}"} | more
            asked = None
        yield cell, metadata


def _notebook(chapter: Chapter, shown: Callable[[Cell], str | None]) -> NotebookNode:
    notebook: NotebookNode = _nbformat.v4.new_notebook(metadata=_METADATA)
    seen: dict[str, int] = {}
    for cell, metadata in _graded(chapter):
        # A hash of the source's cell alone: its twins in the two notebooks have the same id, and a
        # cell put in elsewhere changes no other's.
        digest = hashlib.sha256(f"{cell.kind}\n{cell.source}".encode()).hexdigest()[:12]
        seen[digest] = seen.get(digest, 0) + 1
        name = digest if seen[digest] == 1 else f"{digest}-{seen[digest]}"
        text = shown(cell)
        if text is not None:
            make = getattr(_nbformat.v4, f"new_{cell.kind}_cell")
            notebook.cells.append(make(text, metadata=metadata, id=name))
    return notebook
