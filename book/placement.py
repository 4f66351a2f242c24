"""The placement: one question for each chapter, which says where to begin.

`placement.yml` names the section that answers it. The question is that section's own wherever one
serves; only the order of its options is another, so that no letter is right more often than others.
`_static/placement.js` asks one at a time.
"""

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from zlib import crc32

import nbformat
import yaml
from docutils.nodes import make_id

from book.blocks import block
from book.claims import sections
from book.contents import ROOT
from book.facts import Facts

_HEADING = re.compile(r"(?m)^## \d+\. (.*)$")
_CHECK = re.compile(
    r"\*\*Check yourself\.\*\* ((?:.+\n)+?)\n*((?:- [A-E]\. .*\n)+)\n*"
    r"<details><summary>Answer</summary>\n+((?:- .*\n)+)"
)
_RIGHT = re.compile(r"(?m)^- \*\*([A-E])\b")
_LETTER = re.compile(r"(?m)(^- (?:\*\*)?|\breason as )([A-E])\b")


@dataclass(frozen=True)
class Question:
    """A question of a chapter; what it asks, its options and its reasons are Markdown.

    Attributes:
        section: The number of the section that answers it.
        address: Where that section is on the site.
        asks: The question.
        options: One line for each, `- A. ...`.
        reasons: One line for each, or for several; the right one's letter is bold.
    """

    section: int
    address: str
    asks: str
    options: str
    reasons: str

    @property
    def right(self) -> str:
        """The letter of the right option.

        Raises:
            ValueError: The reasons call none of the options right, or several.
        """
        letters = _RIGHT.findall(self.reasons)
        if len(letters) != 1 or f"- {letters[0]}. " not in self.options:
            raise ValueError(f"one option must be right, got {letters} for {self.asks!r}")
        return letters[0]

    def turned(self, places: int) -> "Question":
        """Return the question with its options moved on by some places, under new letters."""
        letters = re.findall(r"(?m)^- ([A-E])\.", self.options)
        new = {old: letters[(i + places) % len(letters)] for i, old in enumerate(letters)}

        def lines(text: str) -> str:
            moved = _LETTER.sub(lambda found: found[1] + new[found[2]], text)
            return "\n".join(sorted(moved.splitlines(), key=lambda line: line.replace("*", "")))

        return replace(self, options=lines(self.options), reasons=lines(self.reasons))


def questions() -> dict[str, Question]:
    """Return the question of each chapter, by its number and in the order of the chapters.

    Raises:
        ValueError: A chapter has no such section, or the section has no question with options.
    """
    text = Path(__file__).with_suffix(".yml").read_text(encoding="utf-8")
    given = yaml.safe_load(text)
    plain = {number: _question(number, given[number]) for number in sorted(given)}
    return {number: one.turned(crc32(one.asks.encode())) for number, one in plain.items()}


def _question(number: str, given: dict[str, Any]) -> Question:
    known, anchor = sections(number), given["section"]
    if anchor not in known:
        raise ValueError(f"placement.yml: chapter {number} must have a section {anchor!r}")
    if "asks" not in given:
        return Question(*known[anchor], *_own(number, anchor))
    letters = zip("ABCDE", given["options"], strict=False)
    options = "\n".join(f"- {letter}. {option}" for letter, option in letters)
    reasons = "\n".join(f"- {reason}" for reason in given["reasons"])
    return Question(*known[anchor], given["asks"], options, reasons)


def _own(number: str, anchor: str) -> tuple[str, ...]:
    """Return question, options and reasons of the first *Check yourself* that a section has."""
    (page,) = (ROOT / "notebooks").glob(f"{number}_*.ipynb")
    notebook = nbformat.read(page, as_version=4)
    prose = "\n\n".join(c.source for c in notebook.cells if c.cell_type == "markdown")
    _, *parts = _HEADING.split(prose)
    texts = zip(parts[::2], parts[1::2], strict=True)
    text = next(text for title, text in texts if make_id(re.sub("[$`]", "", title)) == anchor)
    found = _CHECK.search(text)
    if found is None:
        raise ValueError(
            f"placement.yml: section {anchor!r} of chapter {number} must have a question with "
            "options, got none; write one beside it"
        )
    return tuple(part.strip() for part in found.groups())


def asked() -> str:
    """Return what a reader reads of the questions, to count its minutes."""
    return "\n".join(f"{one.asks}\n{one.options}" for one in questions().values())


def markdown(about: dict[str, Facts], titles: dict[str, str]) -> str:
    """Return the questions of the chapters that the site has, their answers folded.

    Args:
        about: The facts of each chapter, by its number.
        titles: What each is called.
    """
    shown = []
    for number, one in questions().items():
        if number not in about:
            continue
        page = Path(one.address.partition("#")[0]).stem
        begin = (
            f'<div class="placement" data-chapter="{page}" data-right="{one.right}" '
            f'data-core="{about[number].core}">'
        )
        where = f'<p>See <a href="{one.address}">chapter {number}, section {one.section}</a>.</p>'
        answer = "<details><summary>Answer</summary>"
        end = block(where, "</details>", "</div>")
        text = (one.asks, one.options, answer, one.reasons, end)
        shown.append("\n\n".join([f"## {titles[number]}", begin, *text]))
    return "\n\n".join(shown)
