import datetime
import unicodedata

import pytest
from babel import Locale, localedata
from babel.dates import format_date, get_month_names

from course_utils.data import HELD_OUT_LOCALES, LOCALES, date_styles, write_date
from course_utils.data.date_formats import _ZERO, _is_unambiguous, _pieces

ALL = LOCALES + HELD_OUT_LOCALES
DAY = datetime.date(2047, 3, 9)  # a Saturday
EVERY = [(locale, style) for locale in ALL for style in date_styles(locale)]


def western(text: str) -> str:
    """Return the text with the digits 0 to 9."""
    return "".join(str(unicodedata.digit(sign)) if sign.isdecimal() else sign for sign in text)


def test_there_are_enough_locales_and_formats_and_none_is_in_both_parts() -> None:
    assert len(set(LOCALES)) >= 20
    assert not set(LOCALES) & set(HELD_OUT_LOCALES)
    assert all(len(date_styles(locale)) >= 3 for locale in ALL)


@pytest.mark.parametrize(
    ("locale", "style", "text"),
    [
        ("en_US", "full", "saturday, march 9, 2047"),
        ("en_US", "ordinal", "march 9th, 2047"),
        ("de_DE", "medium", "09.03.2047"),
        ("pt_BR", "long", "9 de março de 2047"),
        ("hu_HU", "yMMMEd", "2047. márc. 9., szo"),
        ("ar_EG", "long", "٩ مارس ٢٠٤٧"),
        ("fa_IR", "yMd", "۲۰۴۷/۳/۹"),
        ("mr_IN", "medium", "९ मार्च, २०४७"),
        ("zh_CN", "full", "2047年3月9日星期六"),
    ],
)
def test_a_date_is_written_as_the_locale_writes_it(locale: str, style: str, text: str) -> None:
    assert write_date(DAY, locale, style).text == text


@pytest.mark.parametrize("style", ["full", "long", "medium"])
def test_the_text_is_that_of_babel_itself(style: str) -> None:
    compared = 0
    for locale in ALL:
        if style in date_styles(locale):
            theirs = format_date(DAY, style, locale=locale).lower().translate({0x200F: None})
            theirs = "".join(" " if sign.isspace() else sign for sign in theirs)
            assert western(write_date(DAY, locale, style).text) == western(theirs)
            compared += 1
    assert compared > 30


@pytest.mark.parametrize(("locale", "style"), EVERY)
def test_the_spans_hold_year_month_and_day(locale: str, style: str) -> None:
    written = write_date(DAY, locale, style)
    found = {part: western(written.text[slice(*span)]) for part, span in written.spans.items()}
    names = {
        get_month_names(width, form, locale)[3].lower()
        for width in ("wide", "abbreviated")
        for form in ("format", "stand-alone")
    }
    assert found["year"] == "2047"
    assert found["day"].rstrip("th") in ("9", "09")
    assert found["month"] in names | {"3", "03"}


def test_ordinals_are_right_for_every_day() -> None:
    days = [datetime.date(2047, 3, day) for day in range(1, 32)]
    english = [write_date(day, "en_GB", "ordinal").text.split()[0] for day in days]
    suffixes = {1: "st", 2: "nd", 3: "rd", 21: "st", 22: "nd", 23: "rd", 31: "st"}
    assert english == [f"{day}{suffixes.get(day, 'th')}" for day in range(1, 32)]
    french = [write_date(day, "fr_FR", "ordinal").text.split()[0] for day in days]
    assert french == ["1er", *map(str, range(2, 32))]


@pytest.mark.thorough
def test_no_text_stands_for_two_dates() -> None:
    """Day and month up to 12 are the ones that could be mistaken for each other."""
    meaning: dict[str, str] = {}
    for month in range(1, 13):
        for day in range(1, 13):
            date = datetime.date(2047, month, day)
            for locale, style in EVERY:
                written = write_date(date, locale, style)
                assert meaning.setdefault(western(written.text), written.iso) == written.iso


@pytest.mark.parametrize("pattern", ["dd/MM/y", "M/d/y", "d-M-y", "d.M.yy", "MMMM y", "d. MMMM"])
def test_a_pattern_that_leaves_a_doubt_is_left_out(pattern: str) -> None:
    assert _pieces(pattern) is None


@pytest.mark.thorough
def test_of_all_languages_one_puts_the_month_before_the_day_where_digits_are_kept() -> None:
    month_first, kept = set(), 0
    for name in localedata.locale_identifiers():
        if "_" in name:
            continue
        locale = Locale.parse(name)
        patterns = [format.pattern for style, format in locale.date_formats.items() if style]
        if "yMd" in locale.datetime_skeletons:
            patterns.append(locale.datetime_skeletons["yMd"].pattern)
        for pieces in filter(None, map(_pieces, patterns)):
            parts = [part for part, _ in pieces if part in ("year", "month", "day")]
            month = next(letters for part, letters in pieces if part == "month")
            if len(month) < 3:
                kept += 1
                if parts.index("month") < parts.index("day") and parts[0] != "year":
                    month_first.add(name)
    assert kept > 50
    assert month_first == {"jgo"}  # Ngomba, which the course does not use


def test_a_pattern_needs_each_field_once() -> None:
    assert not _is_unambiguous([("day", "d"), ("month", "MMMM"), ("month", "MMM"), ("year", "y")])


def test_native_digits_are_ten_in_a_row_from_their_zero() -> None:
    for zero in _ZERO.values():
        assert [unicodedata.digit(chr(ord(zero) + value)) for value in range(10)] == list(range(10))
    assert {Locale.parse(locale).default_numbering_system for locale in ALL} <= set(_ZERO)


def test_texts_are_lower_case_without_invisible_signs() -> None:
    for locale, style in EVERY:
        text = write_date(DAY, locale, style).text
        assert text == text.lower() == unicodedata.normalize("NFC", text)
        assert all(sign == " " or not sign.isspace() for sign in text)
        assert not {"\u200e", "\u200f", "\u061c"} & set(text)


def test_an_unknown_style_is_refused_with_the_known_ones() -> None:
    with pytest.raises(
        ValueError, match=r"style must be one of \('full', .*\) in nl_NL, got 'yMd'"
    ):
        write_date(DAY, "nl_NL", "yMd")
