"""The ledger of published claims: `book/claims.yml`, which travels inside the installed package."""

from functools import cache
from pathlib import Path
from typing import Any

import yaml

PACKAGE = Path(__file__).resolve().parents[1]
Claim = dict[str, Any]


def ledger() -> list[Claim]:
    """Return all claims with their verdicts, in order.

    Each has `id`, `chapter`, `claim`, `verdict`, `correct` (what holds), `how` it was checked and
    the `sections` that treat it; `cite` names the works of a claim that was not run.
    """
    return [dict(claim) for claim in _read("claims.yml")]


def timeline() -> list[dict[str, Any]]:
    """Return what happened when: `date`, `event`, `chapters` and `cite` of each entry."""
    return [dict(entry) for entry in _read("timeline.yml")]


def book_file(name: str) -> Path:
    """Return where a file of the book's folder is, in a checkout or in an installed package."""
    checkout = PACKAGE.parent / "book" / name
    return checkout if checkout.is_file() else PACKAGE / "book" / name


@cache
def _read(name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = yaml.load(
        book_file(name).read_text(encoding="utf-8"),
        Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader),
    )
    return found
