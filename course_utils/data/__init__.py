"""Data that needs no download."""

from course_utils.data.byte_level import ByteLevelTokenizer, merge_by_rank
from course_utils.data.byte_pair import BytePairs
from course_utils.data.date_formats import (
    HELD_OUT_LOCALES,
    LOCALES,
    WrittenDate,
    date_styles,
    write_date,
)
from course_utils.data.dates import DateTokens, field_mask, is_held_out, sample_dates
from course_utils.data.digit_scenes import Scenes, caption, number_strips, scenes
from course_utils.data.digits import Digits, load_digits, shifted
from course_utils.data.installed_texts import installed_texts
from course_utils.data.sequences import Pairs, repeat_pairs
from course_utils.data.text import (
    ALPHABET,
    CharacterText,
    character_text,
    decode,
    encode,
    random_windows,
)
from course_utils.data.tokenizer import END, FIRST_SYMBOL, PAD, START, UNKNOWN, CharacterTokenizer
from course_utils.data.two_names import TwoNames, two_names

__all__ = [
    "ALPHABET",
    "END",
    "FIRST_SYMBOL",
    "HELD_OUT_LOCALES",
    "LOCALES",
    "PAD",
    "START",
    "UNKNOWN",
    "ByteLevelTokenizer",
    "BytePairs",
    "CharacterText",
    "CharacterTokenizer",
    "DateTokens",
    "Digits",
    "Pairs",
    "Scenes",
    "TwoNames",
    "WrittenDate",
    "caption",
    "character_text",
    "date_styles",
    "decode",
    "encode",
    "field_mask",
    "installed_texts",
    "is_held_out",
    "load_digits",
    "merge_by_rank",
    "number_strips",
    "random_windows",
    "repeat_pairs",
    "sample_dates",
    "scenes",
    "shifted",
    "two_names",
    "write_date",
]
