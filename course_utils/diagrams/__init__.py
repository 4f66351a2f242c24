"""The diagrams of the chapters: one file each says what is drawn, `symbols` says how."""

from importlib import import_module
from pathlib import Path

from course_utils.diagrams.symbols import Diagram


def chapters() -> dict[str, str]:
    """Return the module that draws each chapter's diagram, by the chapter's number."""
    files = sorted(Path(__file__).parent.glob("ch[0-9][0-9]_*.py"))
    return {path.stem[2:4]: path.stem for path in files}


def diagram(chapter: str) -> Diagram:
    """Return the diagram of a chapter: the drawing in Jupyter, the same in words elsewhere.

    Args:
        chapter: Its number, in two digits.

    Raises:
        ValueError: The chapter has none.
    """
    known = chapters()
    if chapter not in known:
        raise ValueError(f"chapter must be one of {', '.join(known)}, got {chapter!r}")
    drawn: Diagram = import_module(f"course_utils.diagrams.{known[chapter]}").draw()
    return drawn


__all__ = ["Diagram", "diagram"]
