"""A ledger's verdict on a size that a text states.

Source: IEC 80000-13: kB, MB, GB, TB are powers of 1000; those of 1024 are KiB, MiB, GiB, TiB
Ours / theirs: stated = the number as printed, so that its last digit counts
Differs: a text that means KiB and writes kB is corrected, not wrong.
Same contract as: none
"""

from fractions import Fraction

from course_utils.validation import check_at_least

_UNITS = ("B", "kB", "MB", "GB", "TB")


def unit_verdict(stated: str, unit: str, num_bytes: int) -> str:
    """Return "confirmed", "corrected" or "wrong" for a size stated in a unit.

    Args:
        stated: A decimal number as it was printed, such as "402" or "1.50".
        unit: B, kB, MB, GB or TB.
        num_bytes: The size that was computed.

    Raises:
        ValueError: The number is not a plain decimal, or the unit is unknown.
    """
    check_at_least(0, num_bytes=num_bytes)
    whole, point, digits = stated.partition(".")
    if not (whole + digits).isdecimal() or not whole or (point and not digits):
        raise ValueError(f"stated must be a decimal number such as 402 or 1.50, got {stated!r}")
    if unit not in _UNITS:
        raise ValueError(f"unit must be one of {', '.join(_UNITS)}, got {unit!r}")
    for base, verdict in ((1000, "confirmed"), (1024, "corrected")):
        if holds_to_last_digit(stated, Fraction(num_bytes, base ** _UNITS.index(unit))):
            return verdict
    return "wrong"


def holds_to_last_digit(stated: str, exact: Fraction) -> bool:
    """Return whether a printed decimal number is an exact one, rounded or cut off."""
    number, last = Fraction(stated), Fraction(1, 10 ** len(stated.partition(".")[2]))
    return number - last / 2 <= exact < number + last
