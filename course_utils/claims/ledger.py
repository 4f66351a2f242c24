"""The ledger of published claims and the timeline, which travel inside the installed package."""

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from course_utils.claims.finding import checks

PACKAGE = Path(__file__).resolve().parents[1]
Claim = dict[str, Any]
_ENTRY = re.compile(r"^@\w+\{([^,\s]+),\n(.*?)^\}", re.MULTILINE | re.DOTALL)
_FIELD = re.compile(r"^\s*(\w+) = \{(.*)\},?$", re.MULTILINE)
_ARXIV = re.compile(r"arxiv\.org/abs/(\d\d)(\d\d)\.")


def ledger() -> list[Claim]:
    """Return all claims with their verdicts, in order.

    Each has `id`, `chapter`, `claim`, `text` (the letters of the texts that say it), `verdict`,
    `correct` (what holds), `how` it was checked, and the `sections` that treat it; `check` names
    the function that recomputes it, `cite` the works of a claim that was not run.
    """
    names = {claim: {"check": check.__name__} for claim, check in checks().items()}
    return [
        {"chapter": claim["id"][:2], "correct": "As stated."} | claim | names.get(claim["id"], {})
        for claim in _read("claims.yml")
    ]


def timeline() -> list[dict[str, Any]]:
    """Return what happened when, in order: `date`, `event`, `chapters`, `cite` and `citation`.

    A date is the month in which the work came to arXiv, else the year of its publication.

    Raises:
        ValueError: A work is not in the bibliography.
    """
    known = bibliography()
    entries = _read("timeline.yml")
    missing = sorted({entry["cite"] for entry in entries} - known.keys())
    if missing:
        raise ValueError(f"each work must stand in references.bib, got {', '.join(missing)}")
    told = [
        dict(entry) | {"date": _date(work), "citation": f"{_who(work)}, {_plain(work['title'])}"}
        for entry in entries
        for work in [known[entry["cite"]]]
    ]
    return sorted(told, key=lambda entry: str(entry["date"]))


def works(keys: Iterable[str]) -> list[str]:
    """Return how works are cited in a text, such as "Luong et al. (2015)".

    Args:
        keys: Their keys in the bibliography.
    """
    return [_who(bibliography()[key]) for key in keys]


@cache
def bibliography() -> dict[str, dict[str, str]]:
    """Return the fields of each work in `book/references.bib`, by its key."""
    text = book_file("references.bib").read_text(encoding="utf-8")
    return {key: dict(_FIELD.findall(fields)) for key, fields in _ENTRY.findall(text)}


def book_file(name: str) -> Path:
    """Return where a file of the book's folder is, in a checkout or in an installed package."""
    checkout = PACKAGE.parent / "book" / name
    return checkout if checkout.is_file() else PACKAGE / "book" / name


def _date(work: dict[str, str]) -> str:
    number = _ARXIV.search(work.get("url", ""))
    return f"20{number[1]}-{number[2]}" if number else work["year"]


def _who(work: dict[str, str]) -> str:
    names = [name.partition(",")[0] for name in work["author"].split(" and ")]
    few = len(names) < 3 and "others" not in names
    who = " and ".join(names) if few else f"{names[0]} et al."
    return f"{_plain(who)} ({work['year']})"


def _plain(text: str) -> str:
    return re.sub(r"\\['`^\"~vc]|[{}$]", "", text)


@cache
def _read(name: str) -> list[dict[str, Any]]:
    text = book_file(name).read_text(encoding="utf-8")
    return yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))
