"""Count the minutes of a chapter, section by section: below each heading, and on its front.

This is the one place of the formula. Reading takes a minute for 150 words (folded answers too) and
for 12 lines of code, and two for each question that is asked before its answer: a prediction, a
check, an error to find. An exercise takes the minutes that its own data name; its stub is not read
twice. A chapter has one number, the sum of what its sections say, for the core path, and one for
what is further; the site reads both off the notebook.
"""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from tools.notebooks.source import Chapter

WORDS, LINES = 150, 12  # in a minute
ASKED = 2  # minutes for a question
CORE_MINUTES, CORE_EXERCISES, CORE_SECTIONS = 120, 60, 10  # all minutes; of them for exercises
FURTHER = "further"  # the tag of a heading that is not on the core path
PLACE = "*Core path · further*"  # the front's line that a builder fills in
_WORD = re.compile(r"\w[\w'’-]*")
_BESIDE = re.compile(r"<[^>]+>|<!--.*?-->|\]\([^)]*\)|\{[\w:-]+\}|(?s:\A---\n.*?\n---\n)")
_QUESTION = re.compile(r"(?m)^\*\*(Predict|Check yourself|Find the error)\b")
_WIDGETS = re.compile(r"from course_utils\.widgets import \(?([\w\s,]+)")
_HEADINGS = re.compile(r"(?m)^(?=## )")
_TIMED = re.compile(r"(?m)^## (?:\d+\. |Yours\b).*$")


def reading(prose: str, code: str = "") -> float:
    """Return the minutes that it takes to read a text and some code."""
    words = len(_WORD.findall(_BESIDE.sub(" ", prose)))
    lines = sum(bool(line.strip()) for line in code.splitlines())
    return words / WORDS + lines / LINES + ASKED * len(_QUESTION.findall(prose))


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, "1 exercise" or "6 exercises"."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


@dataclass
class Section:
    """A section: the text below one heading `## `; `line` is the heading's in the file."""

    title: str
    line: int
    further: bool
    prose: str = ""
    code: str = ""
    exercises: list[str] = field(default_factory=list)

    @property
    def timed(self) -> bool:
        """True if it shows its minutes: it is numbered, or the chapter's *Yours*."""
        return bool(_TIMED.match(self.title))

    @property
    def numbered(self) -> bool:
        """True if it counts among the sections of the core path or of the further part."""
        return self.title[3:4].isdigit()

    @property
    def read(self) -> int:
        """Whole minutes of reading, at least one."""
        return max(1, round(reading(self.prose, self.code)))


def sections(chapter: Chapter) -> list[Section]:
    """Return a chapter's sections as a learner finds them, without what precedes the first."""
    found: list[Section] = []
    for cell in chapter.cells:
        if cell.kind == "code" and found and "solution" not in cell.tags:
            if "guess" in cell.metadata:
                continue  # its question's minutes are those of the prediction above it
            if cell.exercise is None:
                found[-1].code += f"{cell.source}\n"
            else:
                found[-1].exercises.append(cell.exercise)
        elif cell.kind == "markdown" and "solution" not in cell.tags:
            at = cell.line
            for piece in _HEADINGS.split(cell.source):
                if piece.startswith("## "):
                    title = piece.split("\n")[0]
                    found.append(Section(title, at, FURTHER in cell.tags))
                if found:
                    found[-1].prose += piece
                at += piece.count("\n")
    return found


def path_faults(chapter: Chapter) -> Iterator[tuple[int, str]]:
    """Yield line and message of each broken rule of the core path.

    Args:
        chapter: The source, with what the data say of its exercises.
    """
    places = []
    for cell in chapter.cells:
        if FURTHER in cell.tags and not (cell.kind == "markdown" and cell.source[:3] == "## "):
            yield cell.line, f'the tag "{FURTHER}" belongs on a cell that begins with `## `'
        lines = cell.source.split("\n") if cell.kind == "markdown" else []
        places += [cell.line + number for number, line in enumerate(lines) if line == PLACE]
    found = sections(chapter)
    if len(places) > 1:
        yield places[1], f"the line {PLACE} must stand there once, got {len(places)}"
    if not places:
        yield from (
            (section.line, f"a further section needs the line {PLACE} on the chapter's front")
            for section in found
            if section.further
        )
        return
    yield from ((places[0], says) for says in _too_long(chapter, found))


def _too_long(chapter: Chapter, found: list[Section]) -> Iterator[str]:
    core = [section for section in found if not section.further]
    practice = sum(exercise_minutes(chapter, section) for section in core)
    if practice > CORE_EXERCISES:
        yield f"the core path must keep to {CORE_EXERCISES} minutes of exercises, got {practice}"
    whole = sum(minutes(chapter, section) for section in core if section.timed)
    if whole > CORE_MINUTES:
        yield f"the core path must keep to {CORE_MINUTES} minutes in all, got {whole}"
    number = sum(section.numbered for section in core)
    if number > CORE_SECTIONS:
        yield f"the core path must keep to {CORE_SECTIONS} sections, got {number}"


def with_minutes(chapter: Chapter) -> Chapter:
    """Return the chapter with its minutes below each heading and on its front.

    Args:
        chapter: The source, with what the data say of its exercises.
    """
    timed = [section for section in sections(chapter) if section.timed]
    below = iter([_below(chapter, section) for section in timed])
    front = " ".join(_front(chapter, timed))
    cells = []
    for cell in chapter.cells:
        source = cell.source
        if cell.kind == "markdown" and "solution" not in cell.tags:
            source = _TIMED.sub(lambda heading: f"{heading[0]}\n\n{next(below)}", source)
            source = "\n".join(front if line == PLACE else line for line in source.split("\n"))
        cells.append(cell if source == cell.source else replace(cell, source=source))
    return replace(chapter, cells=tuple(cells))


def exercise_minutes(chapter: Chapter, section: Section) -> int:
    """Return the minutes of a section's exercises."""
    return sum(chapter.asked[name].minutes for name in section.exercises if name in chapter.asked)


def minutes(chapter: Chapter, section: Section) -> int:
    """Return the minutes that a section shows below its heading."""
    return section.read + exercise_minutes(chapter, section)


def first_seen(chapter: Chapter) -> tuple[float, float]:
    """Return the minutes before a chapter's first picture and before its first widget.

    A widget is a picture too, as are a diagram and a figure. What never comes is at infinity.

    Args:
        chapter: The source, with what the data say of its exercises.
    """
    code = "\n".join(cell.source for cell in chapter.cells if cell.kind == "code")
    names = {name for found in _WIDGETS.findall(code) for name in re.findall(r"\w+", found)}
    shows = re.compile(rf"(?m)^(?:\w+ = )?(?:{'|'.join(sorted(names | {'heatmap'}))})\(")
    spent, picture, widget = 0.0, math.inf, math.inf
    for cell in chapter.cells:
        if cell.kind != "code":
            spent += reading(cell.source)
        elif "solution" not in cell.tags:
            if shows.search(cell.source):
                widget = min(widget, spent)
            if "image" in cell.metadata.get("mystnb", {}) or "diagram(" in cell.source:
                picture = min(picture, spent)
            asked = chapter.asked.get(cell.exercise or "")
            spent += asked.minutes if asked else reading("", cell.source)
    return min(picture, widget), widget


def _below(chapter: Chapter, section: Section) -> str:
    what = f"{FURTHER} · " if section.further else ""
    return f"*{what}{counted(minutes(chapter, section), 'minute')}*"


def _front(chapter: Chapter, timed: list[Section]) -> Iterator[str]:
    for name, further in (("Core path", False), ("Further", True)):
        own = [section for section in timed if section.further == further]
        if own:
            number = counted(sum(section.numbered for section in own), "section")
            whole = counted(sum(minutes(chapter, section) for section in own), "minute")
            do = sum(exercise_minutes(chapter, section) for section in own)
            yield f"*{name}* {number}: {whole}{f', {do} of them for exercises' if do else ''}."
