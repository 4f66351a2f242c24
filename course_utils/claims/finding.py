"""Tie checks to claims; what a check returns, and how its verdict follows."""

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

from course_utils.measure.record import read_record

Verdict = Literal["confirmed", "corrected", "wrong", "hardware-dependent", "unverifiable"]


@dataclass(frozen=True)
class Finding:
    """A check's result, in words and figures, and the verdict that follows."""

    measured: str
    verdict: Verdict


Check = Callable[[], Finding]
CHECKS: dict[str, Check] = {}


def recomputes(*claims: str) -> Callable[[Check], Check]:
    """Return a decorator that makes a function the check of a claim, or of equal claims.

    Raises:
        ValueError: A claim has a check already.
    """

    def register(check: Check) -> Check:
        for claim in claims:
            if claim in CHECKS:
                raise ValueError(
                    f"a claim must have one check, got {CHECKS[claim].__name__} "
                    f"and {check.__name__} for {claim!r}"
                )
            CHECKS[claim] = check
        return check

    return register


def checks(chapter: str | None = None) -> dict[str, Check]:
    """Return the check of each claim, by the claim's id: of one chapter, or of all."""
    _register(f"ch{chapter or ''}")
    return {
        claim: check
        for claim, check in sorted(CHECKS.items())
        if chapter is None or claim.startswith(f"{chapter}-")
    }


@cache
def _register(start: str) -> None:
    """Import the modules whose names start like this, which registers their checks."""
    for module in pkgutil.iter_modules([str(Path(__file__).parent)]):
        if module.name.startswith(start):
            importlib.import_module(f"{__package__}.{module.name}")


def weigh(measured: str, *, holds: bool, amended: bool = False) -> Finding:
    """Return the finding on a claim that can be decided.

    Args:
        measured: What was computed.
        holds: Whether the claim holds as it was published.
        amended: Whether it holds once the missing condition, or the figure, is corrected.
    """
    return Finding(measured, "confirmed" if holds else "corrected" if amended else "wrong")


def undecided(measured: str, *, for_it: bool, against: bool) -> Finding:
    """Return the finding on a claim without evidence: what was run speaks both for and against it.

    If only one of the two came out, the claim was decided after all, and the verdict says so.
    """
    if for_it and against:
        return Finding(measured, "unverifiable")
    return weigh(measured, holds=for_it)


def by_machine(measured: str, record: str) -> Finding:
    """Return the finding on a claim about speed, with the machine and the date of its record."""
    where = read_record(record)
    settings: dict[str, Any] = where.get("settings", {})
    machine = ", ".join([where["machine"], *filter(None, [settings.get("processor")])])
    return Finding(f"{measured} ({machine}, {where['date']})", "hardware-dependent")
