"""The picture of chapter 18: the ledger of claims as a table that filters, and a timeline."""

from collections.abc import Mapping, Sequence
from typing import Any

import traitlets

from course_utils.widgets.traits import CourseWidget, Items

VERDICTS = ("wrong", "corrected", "hardware-dependent", "unverifiable", "confirmed")
"""Verdicts on a claim."""

SHOWN = ("id", "chapter", "claim", "verdict", "correct", "how", "check", "cite")


class ClaimLedger(CourseWidget, page="claim_ledger"):
    """The widget that ``claim_ledger`` makes; its traits follow the filters."""

    claims = Items(help="The claims.")
    timeline = Items(help="What happened when: date, event, chapters and citation.")
    chapter = traitlets.Unicode("", help="Only claims of this chapter; empty for all.")
    verdict = traitlets.Enum(("", *VERDICTS), "", help="Only of this verdict.")
    how = traitlets.Unicode("", help="Only those checked this way.")
    text = traitlets.Unicode("", help="Words that each claim shown has.")
    opened = traitlets.Unicode("", help="The id of the claim whose row is open.")

    def __repr__(self) -> str:
        return f"ClaimLedger({len(self.claims)} claims, {len(self.timeline)} entries of a timeline)"


def claim_ledger(
    claims: Sequence[Mapping[str, Any]],
    timeline: Sequence[Mapping[str, Any]] = (),
    *,
    found: Mapping[str, str] | None = None,
    chapter: str = "",
    verdict: str = "",
    how: str = "",
    text: str = "",
) -> ClaimLedger:
    """Show claims in a table that filters by chapter, verdict, way of checking and words.

    Args:
        claims: Entries of the ledger: `id`, `chapter`, `claim`, `verdict`, `correct` and `how`.
        timeline: Entries with `date`, `event`, `chapters` and `citation`; none hides it.
        found: What the check of a claim found, by the claim's id.
        chapter: The chapter shown at first, in two digits; empty for all.
        verdict: The verdict shown at first, one of ``VERDICTS``; empty for all.
        how: The way of checking shown at first; empty for all.
        text: Words that the claims shown at first have.

    Raises:
        ValueError: There are no claims, a verdict is unknown, or nothing was checked in that way.
    """
    if not claims:
        raise ValueError("claims must be at least one, got none")
    known = {"verdict": VERDICTS, "how": sorted({claim["how"] for claim in claims})}
    for name, value in {"verdict": verdict, "how": how}.items():
        if value and value not in known[name]:
            raise ValueError(f"{name} must be one of {', '.join(known[name])}, got {value!r}")
    findings = found or {}
    return ClaimLedger(
        claims=[
            {name: claim[name] for name in SHOWN if name in claim}
            | ({"found": findings[claim["id"]]} if claim["id"] in findings else {})
            for claim in claims
        ],
        timeline=[
            {name: entry[name] for name in ("date", "event", "chapters", "citation")}
            for entry in timeline
        ],
        chapter=chapter,
        verdict=verdict,
        how=how,
        text=text,
    )
