"""Pieces of HTML for the parts of pages that are made of data.

A block has no blank line in it, so that Markdown takes it for one piece of HTML. What stands in it
is left out of the search, which is to find explanations and not rows.
"""

import re
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

_CODE = re.compile(r"`([^`]+)`")
_SUBSCRIPT = re.compile(r"\b([A-Za-z]|PE|alpha|sigma|omega)_(\{[^{}]+\}|[A-Za-z0-9]{1,5}\b)")
_POWER = re.compile(r"\^(-?\d+(?:\.\d+)?|[A-Z]\b|[a-z]\b|\([^()]+\))")


def block(*lines: str) -> str:
    """Join lines into one block, without the blank ones."""
    return "\n".join(line for part in lines for line in part.split("\n") if line.strip())


def table(head: Sequence[str], rows: Iterable[Sequence[str]], classes: str = "") -> str:
    """Return a table that scrolls by itself where it is too wide; the cells are HTML.

    The first cell of a row names the row.
    """
    top = "".join(f'<th scope="col">{cell}</th>' for cell in head)
    body = "\n".join(
        f'<tr><th scope="row">{first}</th>{"".join(f"<td>{cell}</td>" for cell in rest)}</tr>'
        for first, *rest in rows
    )
    return (
        f'<div class="pst-scrollable-table-container"><table class="table data {classes}">\n'
        f"<thead><tr>{top}</tr></thead>\n<tbody>\n{body}\n</tbody></table></div>"
    )


def folded(summary: str, *body: str) -> str:
    """Return a block of reference material, folded under its summary."""
    head = f"<summary>{summary}</summary>"
    return block('<details class="look-up">', head, *body, "</details>")


def recorded(record: dict[str, Any], **versions: str) -> str:
    """Return the sentence on how a record was made, with the versions of some packages."""
    named = ", ".join(f"{says} {record['versions'][name]}" for name, says in versions.items())
    return (
        f"Recorded on {record['date']} with <code>{escape(record['command'])}</code>, {named}, "
        f"on {escape(record['settings']['processor'])}."
    )


def code_words(text: str) -> str:
    """Return plain text as HTML, with what stands between backticks as code."""
    return _CODE.sub(r"<code>\1</code>", escape(" ".join(text.split()), quote=False))


def wrong_lines(mistake: Any) -> str:
    """Return the wrong lines of a mistake's first version, or nothing."""
    lines = next((version for version in mistake.versions if isinstance(version, str)), "")
    return f'<pre tabindex="0">{escape(lines.strip())}</pre>' if lines else ""


def formulas(text: str) -> str:
    """Return plain text as HTML, with its powers and indices raised and lowered."""
    lowered = _SUBSCRIPT.sub(lambda m: f"{m[1]}<sub>{m[2].strip('{}')}</sub>", code_words(text))
    return _POWER.sub(lambda m: f"<sup>{m[1].strip('()')}</sup>", lowered)
