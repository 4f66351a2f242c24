"""Data that needs no download."""

from course_utils.data.text import (
    ALPHABET,
    CharacterText,
    character_text,
    decode,
    encode,
    random_windows,
)

__all__ = [
    "ALPHABET",
    "CharacterText",
    "character_text",
    "decode",
    "encode",
    "random_windows",
]
