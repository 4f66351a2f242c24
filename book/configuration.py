"""The table of the page "Reading a model's configuration": each field, and where it is explained.

What a field must be for `from_folder` comes from the loader's own tables; the addresses of sections
come from the chapters' headings, so that a section that is gone fails the build.
"""

from html import escape
from pathlib import Path
from typing import Any

import yaml

from book.blocks import block, code_words, table
from book.claims import sections
from course_utils.models.released.llama_config import REQUIRED, SAME_IN_ALL
from course_utils.models.released.llama_rope import FREQUENCIES

NOT_LOOKED_AT = ("attention_dropout", "use_cache")
REFUSED = ("mscale", "mscale_all_dim", "partial_rotary_factor")


def required(name: str) -> str:
    """Return what `from_folder` asks of a field, as text: a value, a list of them, or nothing."""
    if name in NOT_LOOKED_AT:
        return "not looked at"
    if name in REFUSED:
        return "refused"
    if name == "rope_type":
        return " or ".join(f"`{kind}`" for kind in FREQUENCIES)
    found: dict[str, list[str]] = {}
    for family, fields in (("", SAME_IN_ALL), *REQUIRED.items()):
        if name in fields:
            found.setdefault(_shown(fields[name]), []).append(family)
    if len(found) == 1:
        value, families = found.popitem()
        everywhere = families == [""] or len(families) > 1
        return f"must be {value}" if everywhere else f"must be {value} in {families[0]}"
    return "read"


def _shown(values: tuple[Any, ...]) -> str:
    return " or ".join(f"`{value}`" for value in values)


def load() -> list[dict[str, Any]]:
    """Return the groups of fields, in the order of the page."""
    text = Path(__file__).with_suffix(".yml").read_text(encoding="utf-8")
    return yaml.safe_load(text)


def markdown() -> str:
    """Return the tables, one for each group.

    Raises:
        KeyError: A chapter has no such section.
    """
    head = ("Field", "What it says", "Explained in", "<code>from_folder</code>")
    parts = []
    for group in load():
        rows = [
            (_name(one), code_words(one["says"]), _link(one.get("section")),
             code_words(required(one["name"])))
            for one in group["fields"]
        ]  # fmt: skip
        parts.append(f"## {group['title']}\n\n{block(table(head, rows))}")
    return "\n\n".join(parts)


def _name(field: dict[str, Any]) -> str:
    older = f" (older: <code>{field['older']}</code>)" if "older" in field else ""
    return f"<code>{escape(field['name'])}</code>{older}"


def _link(section: str | None) -> str:
    if section is None:
        return ""
    chapter, anchor = section.split("#")
    number, address = sections(chapter)[anchor]
    return f'<a href="{address}">{chapter}, section {number}</a>'
