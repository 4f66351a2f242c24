"""Stated sizes: rounding, cutting off, powers of 1000 and 1024, and exactness."""

from decimal import Decimal
from fractions import Fraction

import pytest

from course_utils.clinic import unit_verdict


@pytest.mark.parametrize(
    ("stated", "unit", "num_bytes", "verdict"),
    [
        ("402", "MB", 402_653_184, "confirmed"),
        ("384", "MB", 402_653_184, "corrected"),
        ("400", "MB", 402_653_184, "wrong"),
        ("0.4", "GB", 402_653_184, "confirmed"),
        ("1.50", "GB", 1_540_000_000, "wrong"),
        ("1.5", "GB", 1_540_000_000, "confirmed"),
        ("1", "kB", 1024, "confirmed"),
        ("0", "GB", 0, "confirmed"),
        ("9007199254740993", "B", 9_007_199_254_740_992, "wrong"),
    ],
)
def test_what_a_ledger_says(stated: str, unit: str, num_bytes: int, verdict: str) -> None:
    assert unit_verdict(stated, unit, num_bytes) == verdict


def test_every_size_near_a_boundary_agrees_with_decimal_arithmetic() -> None:
    for stated in ("2", "2.0", "0.30", "17.5"):
        number = Decimal(stated)
        last = Decimal(1).scaleb(int(number.as_tuple().exponent))
        for num_bytes in range(int((number - last) * 1000), int((number + last) * 1024) + 9):
            inside = [
                number - last / 2 <= Decimal(num_bytes) / base < number + last
                for base in (1000, 1024)
            ]
            want = "confirmed" if inside[0] else "corrected" if inside[1] else "wrong"
            assert unit_verdict(stated, "kB", num_bytes) == want
    assert Fraction("0.30") == Fraction(3, 10)


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda: unit_verdict("4e2", "MB", 1), ValueError, "stated must be a decimal number"),
        (lambda: unit_verdict("-4", "MB", 1), ValueError, "stated must be a decimal number"),
        (lambda: unit_verdict("4.", "MB", 1), ValueError, "stated must be a decimal number"),
        (lambda: unit_verdict("", "MB", 1), ValueError, "stated must be a decimal number"),
        (lambda: unit_verdict("4", "MiB", 1), ValueError, "unit must be one of B, kB, MB, GB, TB"),
        (lambda: unit_verdict("4", "MB", -1), ValueError, "num_bytes must be at least 0, got -1"),
        (lambda: unit_verdict("4", "MB", 1.0), TypeError, "num_bytes must be an int, got float"),
    ],
)
def test_what_is_refused(call, error, says) -> None:
    with pytest.raises(error, match=says):
        call()
