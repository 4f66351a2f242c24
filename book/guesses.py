"""Put the questions of a chapter's guesses on its page: the card's data, and its script."""

import json
import re
from html import escape

from nbformat import NotebookNode

from course_utils.guessing.known import digest, known
from course_utils.widgets.assets import module, style
from course_utils.widgets.guess_card.guess_card import told

KEY = "guess"  # of a cell's metadata


def ask(notebook: NotebookNode, *, covered: bool) -> None:
    """Give each cell that asks for a guess what the page's script needs, and hide its code.

    Args:
        notebook: A chapter as a page shows it, changed in place.
        covered: True if what was measured is covered until a guess is given.

    Raises:
        ValueError: A cell asks for a guess that the builder has not written down.
    """
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    for at, cell in enumerate(code):
        if KEY not in cell.metadata:
            continue
        name = cell.metadata[KEY]["name"]
        if name not in known():
            raise ValueError(f"the guess {name} is not known: run `make notebooks`")
        question, truth, measured = known()[name]
        digests = [digest(one.source) for one in code[at + 1 :]]
        cells = digests.index(measured) + 1 if covered and measured in digests else 0
        posed = told(question.posed(0))
        for output in cell.outputs:
            output["data"]["text/html"] = (
                f'<div class="guess" data-guess="{name}" data-cells="{cells}" '
                f'data-question="{_attribute(posed)}" data-truth="{_attribute(truth)}">'
                f"<p><em>Your guess:</em> {escape(posed['asks'])}</p></div>"
            )
        cell.metadata["tags"] = [*cell.metadata.get("tags", []), "remove-input"]


def _attribute(value: object) -> str:
    return escape(json.dumps(value, ensure_ascii=False))


def script() -> str:
    """Return the card as a plain script: a page opened from a folder may load no modules."""
    text = module("guess_card/guess_card.js").replace("export default ", "globalThis.guessCard = ")
    return f"(() => {{\n{re.sub('(?m)^export ', '', text)}}})();\n"


def made() -> dict[str, str]:
    """Return the files that pages with guesses load, by name."""
    return {"guess-card.js": script(), "guess-card.css": style("guess_card/guess_card.css")}
