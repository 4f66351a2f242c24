"""Make the pages that `book.yml` names, for an edition: chapters as run, pages with tables."""

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode
from sphinx.util.nodes import _make_id

from book import (
    claims,
    compared,
    configuration,
    contents,
    facts,
    front,
    guesses,
    instructor,
    learner,
    mistakes,
    peers,
    placement,
    schemes,
    twins,
    unlisted,
)
from book.contents import ROOT
from tools.notebooks.minutes import FURTHER

_TABLE = re.compile(r"<!-- table: (\w+) -->")
_NOTEBOOK = re.compile(r'(<a href="\d\d_\w+)\.ipynb"')


def all_pages(edition: str) -> dict[str, bytes]:
    """Return the content of each page of an edition, by the file's name in `book.yml`.

    With them come the figures for dark pages, below the name of their folder.

    Raises:
        ValueError: The two notebooks of a chapter were not built together, a page has no title, or
            it asks for a table that nobody makes.
    """
    toc = contents.of_edition(contents.project(ROOT)["toc"], edition)
    about = {
        Path(file).name[:2]: facts.of_notebook(_read(ROOT / file), Path(file).stem)
        for file in contents.files(toc)
        if contents.is_notebook(file)
    }
    titles = {Path(file).name[:2]: title for file, title in contents.titles(toc) if title}
    titles = {number: titles.get(number, number) for number in about}
    tables = _tables(edition, about, titles, toc)
    made = {}
    for file in contents.files(toc):
        page, figures = _page(file, edition, about, tables)
        made |= {file: page.encode()}
        made |= {f"{twins.FOLDER}/{name}": figure for name, figure in figures.items()}
    return made


def _page(
    file: str, edition: str, about: dict[str, facts.Facts], tables: dict[str, Callable[[], str]]
) -> tuple[str, dict[str, bytes]]:
    try:
        if contents.is_notebook(file):
            shown = _notebook(file, edition)
            figures = twins.taken_out(shown)
            line = facts.told(about[Path(file).name[:2]], Path(file).name)
            shown.cells[0].source = facts.below_title(shown.cells[0].source, line)
            for cell in shown.cells:
                _lead_to_pages(cell)
                if FURTHER in cell.metadata.get("tags", []):
                    cell.source = f"{{.further}}\n{cell.source}"  # a class: further.js folds it
            return str(nbformat.writes(shown)), figures
        text = (ROOT / file).read_text(encoding="utf-8")
        looked_up = set(_TABLE.findall(text)) - {"length", "placement", *front.PARTS}
        asked = placement.asked() if "<!-- table: placement -->" in text else ""
        line = facts.told(facts.of_text(text + asked), tables=bool(looked_up))
        text = facts.below_title(text, line)
        return _TABLE.sub(lambda named: tables[named[1]](), text), {}
    except KeyError as error:
        raise ValueError(f"{file}: nobody makes a table {error}") from None
    except ValueError as error:
        raise ValueError(f"{file}: {error}") from None


def letters() -> str:
    """Return links from each letter to the first word of the glossary that begins with it."""
    text = (ROOT / "book" / "glossary.md").read_text(encoding="utf-8")
    terms = re.findall(r"(?m)^(\S.*)\n: ", text)
    names = [_make_id(term) for term in reversed(terms)]
    first = {name[0].upper(): name for name in names if name}  # a formula alone has none
    links = [f'<a href="#term-{first[letter]}">{letter}</a>' for letter in sorted(first)]
    return f'<nav class="letters" aria-label="Letters">{" ".join(links)}</nav>'


def _lead_to_pages(cell: NotebookNode) -> None:
    """Change links that lead to files of the repository into links to the site's pages."""
    if cell.cell_type == "markdown":
        cell.source = cell.source.replace("](../book/", "](../")  # `book` is the site's top
    for output in cell.get("outputs", []):
        data = output.get("data", {})
        if "text/html" in data:
            data["text/html"] = _NOTEBOOK.sub(r'\1.html"', data["text/html"])


def _notebook(file: str, edition: str) -> NotebookNode:
    solved = _read(ROOT / "solutions" / Path(file).name)
    teaching = edition == "instructor"
    shown = solved if teaching else learner.with_outputs(_read(ROOT / file), solved)
    guesses.ask(shown, covered=not teaching)
    return shown


def _read(path: Path) -> Any:
    return nbformat.read(path, as_version=4)


def _tables(
    edition: str, about: dict[str, facts.Facts], titles: dict[str, str], toc: list[contents.Entry]
) -> dict[str, Callable[[], str]]:
    """Return what makes each table that a page can ask for with `<!-- table: name -->`."""
    return {
        "begin": partial(front.begin, about, edition),
        "wrong": front.wrong,
        "examples": partial(front.wrong, 2),
        "verdict": partial(front.wrong, 1),
        "path": partial(front.path, about, toc),
        "numbers": partial(front.numbers, titles),
        "placement": partial(placement.markdown, about, titles),
        "claims": partial(claims.markdown, titles),
        "mistakes": partial(mistakes.markdown, titles, edition),
        "pacing": partial(instructor.pacing, about, titles),
        "weeks_8": partial(instructor.plan, about, titles, 8),
        "weeks_15": partial(instructor.plan, about, titles, 15),
        "unlisted": partial(unlisted.markdown, titles),
        "compared": compared.markdown,
        "ratios": compared.drawn,
        "length": partial(facts.length, about),
        "letters": letters,
        "elsewhere": compared.elsewhere,
        "peers": peers.markdown,
        "hub_costs": instructor.hub_costs,
        "hub_classes": instructor.hub_classes,
        "grading_rates": instructor.grading_rates,
        "configuration": configuration.markdown,
        "configuration_questions": configuration.questions,
        "configuration_unsaid": configuration.unsaid,
        "configuration_widths": configuration.widths,
        "schemes": schemes.markdown,
        "schemes_sizes": schemes.sizes,
        "pitfalls": partial(instructor.pitfalls, titles),
    }
