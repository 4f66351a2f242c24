"""Dates as people write them, from the Unicode CLDR through babel.

Source: Unicode CLDR's date patterns and names, as babel 2.18 ships them, https://cldr.unicode.org;
    a pattern's letters are Unicode Technical Standard 35, part 4, https://unicode.org/reports/tr35/
Differs: the calendar is Gregorian in every locale, since babel has no other; text is lower-cased,
    directional marks are dropped and every space is a plain one. Native digits are used where
    CLDR makes them the locale's default, which babel itself does not do for dates. Ordinals are not
    in CLDR's patterns; they are added here for four languages.
Left out: two-digit years (1924 and 2024 look the same), and days and months that only their order
    tells apart, between slashes or hyphens (3/4/2021). A month in digits stays where the year comes
    first, where a letter names it (3月4日), and between dots: of all languages in CLDR only Ngomba
    puts the month first there, and it is not used here.
"""

from __future__ import annotations

import datetime
import functools
import unicodedata
from dataclasses import dataclass

from babel import Locale, UnknownLocaleError
from babel.dates import DateTimeFormat, parse_pattern, tokenize_pattern

LOCALES = (
    "en_US", "en_GB", "de_DE", "nl_NL", "sv_SE", "da_DK", "fi_FI", "lv_LV", "lt_LT", "fr_FR",
    "es_ES", "it_IT", "pt_BR", "ro_RO", "pl_PL", "cs_CZ", "hu_HU", "tr_TR", "id_ID", "vi_VN",
    "ru_RU", "uk_UA", "el_GR", "he_IL", "ar_EG", "fa_IR", "hi_IN", "mr_IN", "bn_BD", "ja_JP",
    "ko_KR", "zh_CN",
)  # fmt: skip
HELD_OUT_LOCALES = ("nb_NO", "gl_ES", "sk_SK", "bg_BG", "ne_NP", "eu_ES", "ka_GE", "my_MM")
PART = {"y": "year", "M": "month", "L": "month", "d": "day", "E": "weekday", "c": "weekday"}

_STYLES = ("full", "long", "medium", "yMMMd", "yMMMEd", "yMMMMd", "yMMMMEEEEd", "yMd")
_ORDINAL = "ordinal"
_FIRST_DAY = {"fr": "er", "it": "º", "pt": "º"}
_ENGLISH = {"one": "st", "two": "nd", "few": "rd", "other": "th"}
_ZERO = {"arab": "٠", "arabext": "۰", "beng": "০", "deva": "०", "latn": "0", "mymr": "၀"}
_DIRECTION_MARKS = dict.fromkeys(map(ord, "\u200e\u200f\u061c"))
_Piece = tuple[str, str]  # ("text", the literal text) or (a part's name, the field's letters)


@dataclass(frozen=True)
class WrittenDate:
    """A date as one locale writes it.

    Attributes:
        text: The date, lower-cased.
        date: The date itself.
        locale: Whose format it is, for example "de_DE".
        style: CLDR's name of the format, or "ordinal".
        spans: For "year", "month", "day" (and "weekday" if written): start and end in `text`.
    """

    text: str
    date: datetime.date
    locale: str
    style: str
    spans: dict[str, tuple[int, int]]

    @property
    def iso(self) -> str:
        """The date as YYYY-MM-DD."""
        return self.date.isoformat()


def date_styles(locale: str) -> tuple[str, ...]:
    """Return the names of a locale's unambiguous formats, each pattern once."""
    return tuple(_pieces_by_style(locale))


def write_date(date: datetime.date, locale: str, style: str) -> WrittenDate:
    """Write a date as a locale does, and say where its day, month and year are.

    Args:
        date: What to write.
        locale: A CLDR locale, such as "pt_BR".
        style: One of `date_styles(locale)`.

    Raises:
        ValueError: The locale has no such style.
    """
    styles = _pieces_by_style(locale)
    if style not in styles:
        raise ValueError(f"style must be one of {tuple(styles)} in {locale}, got {style!r}")
    text, spans = "", {}
    for part, content in styles[style]:
        value = content if part == "text" else _field(date, locale, content)
        spans[part] = (len(text), len(text) + len(value))
        text += value
    spans.pop("text", None)
    return WrittenDate(text, date, locale, style, spans)


def _field(date: datetime.date, locale: str, letters: str) -> str:
    value = date.weekday() if letters[0] in "Ec" else date.day if letters[0] == "d" else date.month
    return _field_text(locale, letters, date.year if letters[0] == "y" else value)


@functools.cache
def _field_text(locale: str, letters: str, value: int) -> str:
    known, language = Locale.parse(locale), locale.partition("_")[0]
    match letters[0]:
        case "y":
            date = datetime.date(value, 1, 1)
        case "d":
            date = datetime.date(2000, 1, value)
        case "E" | "c":
            date = datetime.date(2001, 1, 1 + value)  # a Monday
        case _:
            date = datetime.date(2000, value, 1)
    text = DateTimeFormat(date, known)[letters.rstrip("+")]
    if letters.endswith("+"):
        first = _FIRST_DAY.get(language, "") if value == 1 else ""
        text += _ENGLISH[known.ordinal_form(value)] if language == "en" else first
    zero = ord(_ZERO[known.default_numbering_system])
    return _plain(text.translate({ord("0") + digit: zero + digit for digit in range(10)}))


@functools.cache
def _pieces_by_style(locale: str) -> dict[str, tuple[_Piece, ...]]:
    try:
        known = Locale.parse(locale)
    except (UnknownLocaleError, ValueError):
        raise ValueError(f"locale must be one of CLDR's, such as 'pt_BR', got {locale!r}") from None
    patterns = {name: format.pattern for name, format in known.date_formats.items() if name}
    patterns |= {name: pattern.pattern for name, pattern in known.datetime_skeletons.items()}
    styles: dict[str, tuple[_Piece, ...]] = {}
    for name in _STYLES:
        pieces = _pieces(patterns[name]) if name in patterns else None
        if pieces and pieces not in styles.values():
            styles[name] = pieces
    if locale.partition("_")[0] in {"en", *_FIRST_DAY}:
        marked = ((part, text + "+" if part == "day" else text) for part, text in styles["long"])
        styles[_ORDINAL] = tuple(marked)
    return styles


def _pieces(pattern: str) -> tuple[_Piece, ...] | None:
    """Return a pattern's parts in order, or None if it is ambiguous."""
    pieces: list[_Piece] = []
    for _, token in tokenize_pattern(parse_pattern(pattern).pattern):
        if isinstance(token, str):
            pieces.append(("text", _plain(token)))
            continue
        letter, count = token
        if letter not in PART or (letter == "y" and count == 2):
            return None
        pieces.append((PART[letter], letter * count))
    return tuple(pieces) if _is_unambiguous(pieces) else None


def _is_unambiguous(pieces: list[_Piece]) -> bool:
    parts = [part for part, _ in pieces if part in ("year", "month", "day")]
    if sorted(parts) != ["day", "month", "year"]:
        return False
    month = next(letters for part, letters in pieces if part == "month")
    between = "".join(text for part, text in pieces if part == "text")
    lettered = any(sign.isalpha() for sign in between) and "/" not in between
    return len(month) > 2 or parts[0] == "year" or "." in between or lettered


def _plain(text: str) -> str:
    spaced = "".join(" " if unicodedata.category(sign) == "Zs" else sign for sign in text)
    return unicodedata.normalize("NFC", spaced.translate(_DIRECTION_MARKS)).lower()
