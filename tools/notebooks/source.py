"""Read a chapter's source: its cells, each with where it stands in the file."""

import contextlib
import copy
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import jupytext  # type: ignore[import-untyped]

from course_utils.sources import HEADER, MARK
from tools.notebooks.regions import Region, find_regions

_PERCENT = {"extension": ".py", "format_name": "percent", "comment_magics": False}
_JUPYTEXT_ONLY = ("lines_to_next_cell", "lines_to_end_of_cell_marker", "cell_marker")


SHOWN = re.compile(r"[ \t]*<!-- shown\b.*?-->", re.DOTALL)  # numbers that `tools.shown` looks up
TOLD = "*Difficulty · importance · minutes*"  # what a builder fills in from the exercise's data


class Asked(NamedTuple):
    """Data of an exercise."""

    signature: str
    points: int
    difficulty: int
    importance: int
    minutes: int
    also: str = ""

    @property
    def told(self) -> str:
        """The line below the exercise's title."""
        return (
            f"*Difficulty {self.difficulty}/5 · importance {self.importance}/5 · "
            f"{self.minutes} minutes*"
        )

    @property
    def stated(self) -> str:
        """The line below the exercise's text: what is judged besides plain values."""
        return f"\n\n*Also judged: {self.also}.*" if self.also else ""


@dataclass(frozen=True)
class Cell:
    """One cell of a source; `line` is where its text begins in the file, counted from 1."""

    kind: str
    source: str
    metadata: dict[str, Any]
    line: int
    regions: tuple[Region, ...] = ()
    problems: tuple[tuple[int, str], ...] = field(default=())

    @property
    def tags(self) -> list[str]:
        """The cell's tags, none where it has none."""
        tags = self.metadata.get("tags", [])
        return list(tags) if isinstance(tags, list) else [str(tags)]

    @property
    def exercise(self) -> str | None:
        """The name of the exercise that the cell asks for."""
        name = self.metadata.get("exercise")
        return None if name is None else str(name)

    def solved(self) -> str:
        """Return the text without the marks."""
        marks = {index for region in self.regions for index in (region.begin, region.end)}
        lines = self.source.split("\n")
        return "\n".join(line for index, line in enumerate(lines) if index not in marks)

    def stubbed(self) -> str:
        """Return the text with every region replaced by what is to be done there."""
        lines = self.source.split("\n")
        for region in reversed(self.regions):
            lines[region.begin : region.end + 1] = region.stub()
        return "\n".join(lines)


@dataclass(frozen=True)
class Chapter:
    """A source file `NN_topic.py`, read; and what the course's data say of its exercises."""

    path: Path
    cells: tuple[Cell, ...]
    asked: Mapping[str, Asked] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The stem that source and notebooks share, `NN_topic`."""
        return self.path.stem

    @property
    def file(self) -> str:
        """The name of the source in messages: its folder and name."""
        return "/".join(self.path.parts[-2:])


def with_data(chapter: Chapter, asked_of: Callable[[str], Asked]) -> Chapter:
    """Return the chapter with what the data say of its exercises, also below title and text.

    What is for the builder alone is gone from it: the marks of numbers that outputs show.
    """
    asked: dict[str, Asked] = {}
    cells: list[Cell] = []
    below = ""  # what comes below the prose that stands just before an exercise
    for cell in reversed(chapter.cells):
        name = next(reversed(asked), None)
        if cell.exercise is not None:
            with contextlib.suppress(KeyError):  # an unknown one is a broken rule, told by `faults`
                asked[cell.exercise] = asked_of(cell.exercise)
                below = asked[cell.exercise].stated
        elif name is not None and cell.kind != "code":
            told = cell.source.replace(TOLD, asked[name].told)
            cell, below = replace(cell, source=told + below), ""
        cells.append(_without_marks(cell))
    return replace(chapter, cells=tuple(reversed(cells)), asked=asked)


def _without_marks(cell: Cell) -> Cell:
    if cell.kind != "code":
        return replace(cell, source=SHOWN.sub("", cell.source))
    metadata = copy.deepcopy(cell.metadata)
    image = metadata.get("mystnb", {}).get("image", {})
    if "alt" in image:
        image["alt"] = SHOWN.sub("", image["alt"])
    return replace(cell, metadata=metadata)


def read_chapter(path: Path) -> Chapter:
    """Read a py:percent source.

    Raises:
        ValueError: The file's cells cannot be told apart. The message begins with the line.
    """
    text = path.read_text(encoding="utf-8")
    lines = text.split("\n")
    headers = [number for number, line in enumerate(lines, start=1) if HEADER.match(line)]
    notebook = jupytext.reads(text, fmt=_PERCENT)
    for header, node in zip(headers, notebook.cells, strict=False):
        if re.search(r"^(# )?%%( |$)", node.source, re.MULTILINE):
            raise ValueError(f"{header}: the cell does not end: a quote in it must be closed")
    if len(notebook.cells) != len(headers):
        raise ValueError("1: only the file's header may stand before the first line `# %%`")
    cells = []
    for header, node in zip(headers, notebook.cells, strict=True):
        metadata = {k: v for k, v in node.metadata.items() if k not in _JUPYTEXT_ONLY}
        begin = header + 1
        quote = () if node.cell_type == "code" else ('"""', 'r"""')
        while begin < len(lines) and lines[begin - 1].strip() in ("", *quote):
            begin += 1
        source = node.source.strip("\n")
        code = node.cell_type == "code"
        regions, problems = find_regions(source) if code else ([], _prose_marks(source))
        shifted = tuple((begin + index, says) for index, says in problems)
        cells.append(
            Cell(node.cell_type, source, metadata, begin, tuple(regions), shifted),
        )
    return Chapter(path, tuple(cells))


def _prose_marks(source: str) -> list[tuple[int, str]]:
    return [
        (index, "a solution mark must stand in a code cell")
        for index, line in enumerate(source.split("\n"))
        if MARK.match(line)
    ]
