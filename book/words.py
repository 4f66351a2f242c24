"""Words of the glossary in the chapters: each is linked where a page first uses it.

A link shows its entry under the pointer and on focus (`words.js`), from a copy that the page holds,
so that it needs no network and works from a folder. What is folded, code and formulas are left out.
"""

import hashlib
import json
import re
from functools import cache
from html import escape
from pathlib import Path

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx

GLOSSARY = Path(__file__).resolve().parent / "glossary.md"
_ENTRY = re.compile(r"(?m)^(\S.*)\n((?:: |  ).+\n(?:  .*\n)*)")
_CITED = re.compile(r"\s*\{cite:p\}`[^`]*`")
_SAYS = (
    (re.compile(r"`([^`]+)`"), r"<code>\1</code>"),
    (re.compile(r"\*([^*]+)\*"), r"<em>\1</em>"),
)
_MATH = re.compile(r"\$([^$]+)\$")
_SKIPPED = (nodes.title, nodes.literal, nodes.reference, nodes.math, addnodes.pending_xref)


def digest(*programs: str) -> str:
    """Return what changes when these programs could make another page of the same source."""
    parts = [path.read_bytes() for path in (GLOSSARY, *map(Path, programs))]
    return hashlib.sha256(b"".join(parts)).hexdigest()


@cache
def entries() -> dict[str, str]:
    """Return the entry of each term, as HTML whose formulas MathJax draws."""
    text = GLOSSARY.read_text(encoding="utf-8").partition(":::{glossary}\n")[2]
    return {term: _html(entry) for term, entry in _ENTRY.findall(text)}


def _html(entry: str) -> str:
    plain = escape(" ".join(_CITED.sub("", entry.removeprefix(": ")).split()), quote=False)
    parts = _MATH.split(plain)
    for pattern, by in _SAYS:
        parts[::2] = [pattern.sub(by, part) for part in parts[::2]]
    parts[1::2] = [rf'<span class="math">\({part}\)</span>' for part in parts[1::2]]
    return "".join(parts)


@cache
def pattern() -> re.Pattern[str]:
    """Return what finds a term in a text; one with capitals is found only with them."""
    ways = []
    for term in sorted(entries(), key=len, reverse=True):
        word = re.escape(term.split(",")[0])
        ways.append(word if any(c.isupper() for c in term) else f"(?i:{word})")
    return re.compile(rf"(?<![\w-])({'|'.join(ways)})s?(?![\w-])")


def link(app: Sphinx, doctree: nodes.document) -> None:
    """Link each term where a chapter's sections first use it, and give the page their entries."""
    if not app.env.docname.startswith("notebooks/"):
        return
    terms = {term.split(",")[0].lower(): term for term in entries()}
    found: dict[str, str] = {}
    depth = 0
    for node in list(doctree.findall()):
        if isinstance(node, nodes.raw):
            depth += node.astext().count("<details") - node.astext().count("</details")
        elif isinstance(node, nodes.Text) and depth == 0 and _is_prose(node):
            parts = list(_linked(node.astext(), terms, found))
            if any(isinstance(part, addnodes.pending_xref) for part in parts):
                node.parent.replace(node, parts)
    kept = json.dumps({_anchor(term): entries()[term] for term in found}).replace("<", "\\u003c")
    script = f'<script type="application/json" id="words">{kept}</script>'
    doctree += nodes.raw("", script, format="html")


def _is_prose(node: nodes.Node) -> bool:
    """Return whether a text stands in a paragraph of a section, below the page's front."""
    above, paragraphs, sections = node.parent, 0, 0
    while above is not None:
        if isinstance(above, _SKIPPED) or "cell" in getattr(above, "attributes", {}).get(
            "classes", ()
        ):
            return False
        paragraphs += isinstance(above, nodes.paragraph)
        sections += isinstance(above, nodes.section)
        above = above.parent
    return paragraphs > 0 and sections > 1


def _linked(text: str, terms: dict[str, str], found: dict[str, str]) -> list[nodes.Node]:
    parts: list[nodes.Node] = []
    at = 0
    for match in pattern().finditer(text):
        term = terms[match[1].lower()]
        if term in found:
            continue
        found[term] = match[0]
        parts += [nodes.Text(text[at : match.start()])] if match.start() > at else []
        shown = nodes.inline("", match[0], classes=["xref", "std", "std-term"])
        parts.append(
            addnodes.pending_xref("", shown, refdomain="std", reftype="term", reftarget=term)
        )
        at = match.end()
    return [*parts, nodes.Text(text[at:])] if at < len(text) or not parts else parts


def _anchor(term: str) -> str:
    """Return the anchor that Sphinx gives a term."""
    return "term-" + re.sub(r"\W+", "-", term)
