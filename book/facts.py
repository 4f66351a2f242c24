"""Say below a page's title how long it takes.

A chapter's minutes are those that its sections show: one number for the core path and one for what
is further, exercises and all (`tools/notebooks/minutes.py` has the formula). Other pages are
counted with the same formula. Running is measured, in processor seconds
(`tools/measure_running.py` writes `running.json`).
"""

import json
import re
from dataclasses import dataclass
from pathlib import Path

from nbformat import NotebookNode

from tools.notebooks.minutes import counted, reading

RUNNING = Path(__file__).resolve().parent / "running.json"
_SHOWN = re.compile(r"(?m)^## .*\n\n\*(further · )?(\d+) minutes?\*$")
_TITLE = re.compile(r"(?m)^# .*$")


@dataclass(frozen=True)
class Facts:
    """Demands of a page on its reader.

    Attributes:
        read: Minutes to read it, without its exercises.
        exercises: How many there are.
        do: Minutes that they take.
        run: Processor seconds to run it, None where that was not measured.
        points: What the exercises bring where they are graded.
        core: Minutes of its core path, exercises and all.
        further: The same for what is further.
    """

    read: int
    exercises: int = 0
    do: int = 0
    run: int | None = None
    points: int = 0
    core: int = 0
    further: int = 0


def of_text(text: str) -> Facts:
    """Return the facts of a page of text alone."""
    return Facts(max(1, round(reading(text))))


def of_notebook(notebook: NotebookNode, name: str) -> Facts:
    """Return the facts of a chapter, from the notebook that the learner opens."""
    from course_utils.exercises import find

    prose, code = (
        "\n".join(
            c.source for c in notebook.cells if c.cell_type == kind and "exercise" not in c.metadata
        )
        for kind in ("markdown", "code")
    )
    asked = [find(c.metadata["exercise"]) for c in notebook.cells if "exercise" in c.metadata]
    shown = _SHOWN.findall(prose)
    core = sum(int(number) for more, number in shown if not more)
    further = sum(int(number) for more, number in shown if more)
    do = sum(exercise.minutes for exercise in asked)
    return Facts(
        read=core + further - do if shown else max(1, round(reading(prose, code))),
        exercises=len(asked),
        do=do,
        run=json.loads(RUNNING.read_text(encoding="utf-8")).get(name),
        points=sum(exercise.points for exercise in asked),
        core=core,
        further=further,
    )


def length(about: dict[str, Facts]) -> str:
    """Return a sentence on how long the chapters take, their core paths and all of them."""
    own = [each for each in about.values() if each.exercises]
    core, do = (round(sum(getattr(each, name) for each in own) / 60) for name in ("core", "do"))
    whole = round(sum(each.read + each.do for each in own) / 60)
    return (
        f"The core paths of the {len(own)} chapters take about {core} hours, the chapters with all "
        f"that is further about {whole}; {do} of these hours are for their "
        f"{sum(each.exercises for each in own)} exercises."
    )


def told(facts: Facts, download: str = "", tables: bool = False) -> str:
    """Return the line below the title, as HTML.

    Args:
        facts: What to tell.
        download: The name of the notebook beside the page; empty where there is none.
        tables: Whether the page has tables beyond what is counted, to look things up in.
    """
    parts = [f"{facts.read} min to read{', then tables to look things up in' if tables else ''}"]
    if facts.core:
        parts = [f"core path {facts.core} min"]
        parts += [f"further {facts.further} min"] if facts.further else []
    if facts.exercises:
        parts.append(counted(facts.exercises, "exercise"))
    if facts.run is not None:
        parts.append(f"runs in {facts.run} s")
    line = " · ".join(parts)
    if download:
        link = f'<a href="{download}" download>Download the notebook</a>'
        line += f'<span class="no-paper"> · {link}</span>'
    return f'<p class="page-facts">{line}</p>'


def below_title(text: str, line: str) -> str:
    """Put a line of HTML below a page's title.

    Raises:
        ValueError: The page has no title.
    """
    found = _TITLE.search(text)
    if found is None:
        raise ValueError("a page must begin with a title, `# ...`")
    return f"{text[: found.end()]}\n\n{line}\n{text[found.end() :]}"
