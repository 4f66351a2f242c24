"""Rows of arithmetic: the figures that a text states, judged against those that are computed."""

from dataclasses import dataclass
from fractions import Fraction
from typing import cast

from course_utils.claims.finding import Finding, Verdict, recomputes
from course_utils.clinic.units import holds_to_last_digit, unit_verdict

_BINARY = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30}
_DECIMAL = {"k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}


@dataclass(frozen=True)
class Figure:
    """A number that was computed, and what is printed of it.

    Attributes:
        value: The number; sizes are in bytes.
        stated: The number as printed, such as "262,400", "19%", "67 MFLOP" or "2.5 MB"; its last
            digit counts, in "~80 MB" the 8. Empty if the text states nothing of it.
        amended: Whether the number holds only once the claim is corrected.
    """

    value: float
    stated: str = ""
    amended: bool = False

    def __format__(self, spec: str) -> str:
        """Return the number in this format; with a unit, as in ".1f MiB", in that unit."""
        digits, _, unit = spec.partition(" ")
        return f"{self.value / _scale(unit):{digits}} {unit}" if unit else f"{self.value:{digits}}"

    def verdict(self) -> Verdict:
        """Return what holds of the printed number, by the rule of chapter 18."""
        printed, _, unit = self.stated.replace(",", "").partition(" ")
        if printed.startswith("~"):
            digits = printed[1:].rstrip("0")
            printed = f"{digits}e{len(printed) - 1 - len(digits)}"
        number, _, power = printed.removesuffix("%").partition("e")
        exact = Fraction(self.value) * (100 if "%" in printed else 1) / 10 ** int(power or 0)
        if unit in ("kB", "MB", "GB", "TB"):
            return cast("Verdict", unit_verdict(number, unit, int(exact)))
        return "confirmed" if holds_to_last_digit(number, exact / _scale(unit)) else "wrong"


def _scale(unit: str) -> int:
    return (_BINARY | _DECIMAL).get(unit[:2], _DECIMAL.get(unit[:1], 1))


def said(stated: str, value: float) -> Figure:
    """Return a number that the text states."""
    return Figure(value, stated)


def meant(stated: str, value: float) -> Figure:
    """Return a number that holds once the claim is corrected."""
    return Figure(value, stated, amended=True)


ROWS: dict[str, list[Figure]] = {}


def arithmetic(claims: str, words: str, *figures: Figure | float) -> None:
    """Register a row of arithmetic as the check of a claim, or of equal claims.

    It is confirmed if all that is said holds, corrected if it does in units of 1024, or if all that
    is meant holds, else wrong.

    Args:
        claims: Their ids, separated by a space.
        words: What was computed, with a field for each figure as `Figure` formats it.
        figures: The numbers; of one that is bare, the text states nothing.
    """
    numbers = [one if isinstance(one, Figure) else Figure(one) for one in figures]

    def check() -> Finding:
        return Finding(words.format(*numbers), judged(numbers))

    check.__name__ = "arithmetic"
    ROWS.update(dict.fromkeys(claims.split(), numbers))
    recomputes(*claims.split())(check)


def judged(figures: list[Figure]) -> Verdict:
    """Return the verdict on a claim with these figures."""
    published = {one.verdict() for one in figures if one.stated and not one.amended}
    amended = {one.verdict() for one in figures if one.amended}
    if published == {"confirmed"}:
        return "confirmed"
    return "corrected" if "wrong" not in published or amended == {"confirmed"} else "wrong"
