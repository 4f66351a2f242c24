"""Exercise: what a ledger says of a size that a text states: rounding, cutting off, 1000 and 1024."""

import math as math
from fractions import Fraction as Fraction

from course_utils.checking.exercise import Case, case, exercise
from course_utils.checking.inputs import given
from course_utils.checking.mistakes import mistake
from course_utils.clinic import unit_verdict

RIGHT = """
def unit_verdict(stated, unit, num_bytes):
    whole, _, digits = stated.partition(".")
    places = len(digits)
    power = ("B", "kB", "MB", "GB", "TB").index(unit)
    number = Fraction(stated)
    last = Fraction(1, 10**places)
    low = number - last / 2
    high = number + last
    decimal = Fraction(num_bytes, 1000**power)
    binary = Fraction(num_bytes, 1024**power)
    holds = low <= decimal < high
    fits = low <= binary < high
    verdict = "confirmed" if holds else "corrected" if fits else "wrong"
    return verdict
"""


def _sizes(name: str, stated: str, unit: str, num_bytes: int) -> Case:
    return case(name, given(stated, unit, num_bytes))


_FLOATS = """number = float(stated)
last = 10.0 ** -places
decimal = num_bytes / 1000**power
binary = num_bytes / 1024**power"""

def _as_floats(test: str) -> str:
    """Return the lines that decide by a test of the size as a float, `x`."""
    lines = (f"x = num_bytes / {base}**power\n{name} = {test}" for base, name in ((1000, "holds"), (1024, "fits")))
    return "\n".join(lines)


EXERCISE = exercise(
    unit_verdict,
    right=RIGHT,
    asks="Say whether a stated size is confirmed, corrected (right in powers of 1024) or wrong.",
    minutes=10,
    difficulty=2,
    importance=3,
    cases=(
        _sizes("402 MB, rounded down", "402", "MB", 402_300_000),
        _sizes("402 MB, rounded up", "402", "MB", 401_600_000),
        _sizes("402 MB, cut off", "402", "MB", 402_653_184),
        _sizes("cut off just below the next number", "402", "MB", 402_999_999),
        _sizes("one byte below the next number", "3", "kB", 3999),
        _sizes("the next number itself", "402", "MB", 403_000_000),
        _sizes("half a digit too little, exactly", "402", "MB", 401_500_000),
        _sizes("less than half a digit too little", "402", "MB", 401_499_999),
        _sizes("right in powers of 1024", "384", "MB", 402_653_184),
        _sizes("32 kB that are 32,768 bytes", "32", "kB", 32_768),
        _sizes("the half in powers of 1024", "2.0", "kB", 1997),
        _sizes("one byte below that half", "2.0", "kB", 1996),
        _sizes("just below the next number in powers of 1024", "2.0", "kB", 2150),
        _sizes("the next number in powers of 1024", "20", "MB", 21 * 1024**2),
        _sizes("right in both", "1", "kB", 1024),
        _sizes("far off", "402", "MB", 805_306_368),
        _sizes("one percent off", "402", "MB", 398_000_000),
        _sizes("one percent off, with few digits", "2", "GB", 2_300_000_000),
        _sizes("a zero that was written", "1.50", "GB", 1_540_000_000),
        _sizes("a zero at the end", "1.50", "GB", 1_505_000_000),
        _sizes("one decimal", "1.5", "GB", 1_540_000_000),
        _sizes("three decimals, in 1024", "1.465", "kB", 1500),
        _sizes("plain bytes", "16384", "B", 16_384),
        _sizes("plain bytes, one more", "16384", "B", 16_385),
        _sizes("plain bytes, with a decimal", "16384.0", "B", 16_384),
        _sizes("nothing at all", "0", "GB", 0),
        _sizes("nothing, said of something", "0", "GB", 999_999_999),
        _sizes("no bytes for one", "1", "TB", 0),
        _sizes("a terabyte", "1.1", "TB", 1_099_511_627_776),
        _sizes("leading zeros", "007", "kB", 7_200),
        _sizes("more digits than a float has", "9007199254740993", "B", 9_007_199_254_740_993),
        _sizes("one less than that", "9007199254740993", "B", 9_007_199_254_740_992),
        _sizes("a large size at its boundary", "1000000000000.1", "MB", 1_000_000_000_000_050_000),
        _sizes("a tenth that is no binary fraction", "0.3", "kB", 250),
        _sizes("the end of a tenth", "0.3", "MB", 400_000),
        _sizes("many digits", "402.653184", "MB", 402_653_184),
        _sizes("many digits, one byte off", "402.653184", "MB", 402_653_183),
    ),
    mistakes=(
        mistake("1024 tried first", "A size that is right as it stands was called corrected. Which of the two readings "
                "comes first?", 'verdict = "corrected" if fits else "confirmed" if holds else "wrong"'),
        mistake("1024 only", "The units were read as powers of 1024 alone. What does kB mean, and what does KiB?",
                "decimal = Fraction(num_bytes, 1024**power)", "holds = low <= binary < high",
                'verdict = "confirmed" if fits else "wrong"'),
        mistake("the words exchanged", "A size that is right in powers of 1000 was called corrected, and one that is "
                "right in powers of 1024 confirmed. For which of the two does a kB stand?",
                'verdict = "corrected" if holds else "confirmed" if fits else "wrong"',
                'verdict = "confirmed" if fits else "corrected" if holds else "wrong"'),
        mistake("1000 only", "Nothing is ever corrected: the powers of 1024 were not tried.", "fits = False"),
        mistake("either is confirmed", "A size that holds only in powers of 1024 was confirmed as it stands.",
                'verdict = "confirmed" if holds or fits else "wrong"'),
        mistake("a mixture of 1000 and 1024", "A unit was read as 1024 times a power of 1000. How many factors of 1024 "
                "does a GiB have?", "binary = Fraction(num_bytes, 1024 * 1000 ** max(power - 1, 0))"),
        mistake("one power too many or too few", "The unit stands for another power. How many bytes does a kB have, "
                "and which power of 1000 is one byte?",
                "power = ('B', 'kB', 'MB', 'GB', 'TB').index(unit) + 1",
                "power = max(('B', 'kB', 'MB', 'GB', 'TB').index(unit) - 1, 0)",
                "power = (0, 2, 3, 4, 5)[('B', 'kB', 'MB', 'GB', 'TB').index(unit)]",
                "decimal = 1000 * Fraction(num_bytes, 1000**power)\nbinary = 1024 * Fraction(num_bytes, 1024**power)"),
        mistake("a unit missing", "The call failed for one of the five units. How is each of them spelt?",
                "power = {'B': 0, 'KB': 1, 'MB': 2, 'GB': 3, 'TB': 4}[unit]",
                "power = {'B': 0, 'kB': 1, 'MB': 2, 'GB': 3}[unit]",
                "power = {'kB': 1, 'MB': 2, 'GB': 3, 'TB': 4}[unit]",
                "power = ('B', 'KB', 'MB', 'GB', 'TB').index(unit)", "power = ('B', 'kB', 'MB', 'GB').index(unit)",
                "power = ('kB', 'MB', 'GB', 'TB').index(unit) + 1"),
        mistake("int of a decimal", "`int` was given a string with a point, and reads none. What does `stated` hold?",
                "number = Fraction(int(stated))"),
        mistake("a digit finer or coarser", "One in the last written digit was taken for ten times as little, or as "
                "much. How much is it for `402`, and for `1.5`?", "last = Fraction(1, 10 ** (places + 1))",
                "last = Fraction(10, 10**places)", "places = len(digits) + ('.' in stated)"),
        mistake("zeros at the end of a whole number", "The zero of `20` was taken for less exact than a written digit. "
                "Which digit is the last one there?",
                "last = Fraction(10 ** (len(whole) - len(whole.rstrip('0'))) if not digits and whole.strip('0') else "
                "1, 10**places)"),
        mistake("a percentage for a digit", "A fixed share was forgiven. The last written digit says how much the "
                "number claims: is that the same share for 2 and for 402?",
                *(f"low = number * (1 - Fraction({share}))\nhigh = number * (1 + Fraction({share}))"
                  for share in ("1, 100", "5, 100", "1, 1000")),
                *(_as_floats(f"abs(x - float(stated)) <= {share} * float(stated)") for share in (0.01, 0.05, 0.001))),
        mistake("rounded only", "A size that was cut off at its last digit was refused. How far above the stated "
                "number may it "
                "lie?", "high = number + last / 2", "high = number + last / 2\nholds = low <= decimal <= high\n"
                "fits = low <= binary <= high", _as_floats("round(x, places) == float(stated)"),
                _as_floats('f"{x:.{places}f}" == stated'), _as_floats("abs(x - float(stated)) <= 0.5 * 10**-places"),
                _as_floats("abs(x - float(stated)) < 0.5 * 10**-places")),
        mistake("cut off only", "A size that was rounded up was refused. How far below the stated number may it lie?",
                "low = number", _as_floats("int(x * 10**places) == int(stated.replace('.', ''))")),
        mistake("a whole digit below", "A size a whole digit below the stated one was let through. What is the most "
                "that rounding adds?", "low = number - last"),
        mistake("exactly or not at all", "Only the exact number of bytes was let through. What do the last digit and "
                "rounding leave open?", "holds = decimal == number\nfits = binary == number"),
        mistake("the upper end let through", "The next number itself was let through. With x = stated + u, what would "
                "a text have written?", "holds = low <= decimal <= high\nfits = low <= binary <= high",
                _as_floats("float(stated) - 0.5 * 10**-places <= x <= float(stated) + 10**-places")),
        mistake("the lower end refused", "Half a digit below is still rounded up to the stated number. Which of the "
                "two ends belongs to it?", "holds = low < decimal < high\nfits = low < binary < high"),
        mistake("a written zero lost", "`1.50` and `1.5` were treated alike. What does a zero at the end tell the "
                "reader?", 'places = len(digits.rstrip("0"))', "places = len(str(float(stated)).partition('.')[2])",
                "places = len(str(float(stated)).partition('.')[2].rstrip('0'))"),
        mistake("the point ignored", "The last digit was taken for a whole one, or for a tenth, whatever comes after "
                "the point. How much is one in the last written digit?", "places = 0", "places = 1", "places = 2",
                "places = len(stated)"),
        mistake("significant digits counted", "All digits were counted, those before the point too. Which digit is the "
                "last one written, and how much is one in it?", "places = len(whole + digits) - 1",
                "last = Fraction(10) ** (len(whole.lstrip('0')) - len(whole + digits) + 1)"),
        mistake("floats decide", "A boundary went to the wrong side: a float is a rounded number. Which of Python's "
                "numbers are exact?", _FLOATS, "number = float(stated)\ndecimal = num_bytes / 1000**power\n"
                "binary = num_bytes / "
                "1024**power", "decimal = num_bytes / 1000**power\nbinary = num_bytes / 1024**power",
                "number = Fraction(float(stated))", "last = 10.0**-places", "last = Fraction(10.0**-places)",
                _as_floats("float(stated) in (round(x, places), math.floor(x * 10**places) / 10**places)")),
        mistake("whole numbers only", "The size was made a whole number before it was compared, so what is cut off "
                "plays no part. What do `//` and `int` drop?", _as_floats("int(x) == int(float(stated))"),
                _as_floats("int(x) == float(stated)"), _as_floats("round(x) == round(float(stated))"),
                "decimal = num_bytes // 1000**power\nbinary = num_bytes // 1024**power"),
        mistake("other words", "The verdicts are the three words of the exercise: confirmed, corrected, wrong.",
                "verdict = holds", "verdict = holds or fits",
                "verdict = 'right' if holds else 'corrected' if fits else 'wrong'",
                "verdict = 'Confirmed' if holds else 'Corrected' if fits else 'Wrong'"),
    ),
    hints=(
        "How much is one in the last digit of `402`, and of `1.50`? The text itself says how exact it wants to be.",
        "Rounding moves a number by half of that at most, and cutting off by less than the whole. Where does the exact "
        "size have to lie, and which of the two ends belongs to it?",
        "Floats cannot hold 0.1. `fractions.Fraction` and `decimal.Decimal` read the string as it stands, and integers "
        "multiplied by a power of ten do as well.",
        "Ask the same question twice, with 1000 and with 1024, in this order.",
    ),
)  # fmt: skip
