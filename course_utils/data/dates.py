"""The course's real task: a date as people write it, to be written as YYYY-MM-DD.

A tenth of the days are held out: no text of such a day is in training, in any locale or format.
A tokenizer knows only the characters of its training texts.
"""

from __future__ import annotations

import datetime
import functools
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool
from torch import Tensor

from course_utils.data.date_formats import LOCALES, WrittenDate, date_styles, write_date
from course_utils.data.sequences import Pairs
from course_utils.data.tokenizer import CharacterTokenizer, pad

FIRST_DAY, LAST_DAY = datetime.date(1900, 1, 1), datetime.date(2099, 12, 31)
HELD_OUT_SHARE = 10
ISO_PARTS = {"year": (0, 4), "month": (5, 7), "day": (8, 10)}


def is_held_out(date: datetime.date) -> bool:
    """Return whether a day is kept from training; the same on every machine and version."""
    # The finaliser of SplitMix64: Python's own hash guarantees nothing, and a plain remainder
    # of the day's number would hold out every tenth day.
    mixed = date.toordinal() * 0x9E3779B97F4A7C15 % 2**64
    mixed = (mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EB % 2**64
    return (mixed ^ mixed >> 31) % HELD_OUT_SHARE == 0


def sample_dates(
    count: int,
    generator: torch.Generator,
    *,
    held_out: bool = False,
    locales: Sequence[str] = LOCALES,
) -> list[WrittenDate]:
    """Draw days, locales and formats, each uniformly.

    Args:
        count: How many.
        generator: The only source of randomness.
        held_out: Whether to draw from the held-out days instead of the others.
        locales: The locales to draw from.
    """
    if not locales:
        raise ValueError("locales must name at least one, got none")
    days = _days(held_out)
    draws = torch.rand(count, 3, generator=generator, dtype=torch.float64).tolist()
    drawn = []
    for day, who, how in draws:
        locale = locales[int(who * len(locales))]
        styles = date_styles(locale)
        date = datetime.date.fromordinal(days[int(day * len(days))])
        drawn.append(write_date(date, locale, styles[int(how * len(styles))]))
    return drawn


@dataclass(frozen=True)
class DateTokens:
    """Tokenizers of dates: one tokenizer for what is read, one for what is written.

    Attributes:
        source: Knows the characters of the training texts.
        target: Knows the digits and the hyphen.
    """

    source: CharacterTokenizer
    target: CharacterTokenizer

    @classmethod
    def of(cls, written: Sequence[WrittenDate]) -> DateTokens:
        """Return the tokens that these training dates need."""
        return cls(
            CharacterTokenizer.of(date.text for date in written), CharacterTokenizer("-0123456789")
        )

    def pairs(self, written: Sequence[WrittenDate]) -> Pairs:
        """Return the dates as padded numbers."""
        return Pairs(
            pad([self.source.encode(date.text) for date in written]),
            pad([self.target.encode(date.iso, marks=True) for date in written]),
        )


def field_mask(written: Sequence[WrittenDate], num_keys: int) -> Bool[Tensor, "N 10 num_keys"]:
    """Mark, for each character of YYYY-MM-DD, where the same field is in the source.

    The two hyphens have no field, so their rows are empty.

    Args:
        written: The dates.
        num_keys: Width of the padded source.

    Raises:
        ValueError: A text is longer than `num_keys`.
    """
    longest = max((len(date.text) for date in written), default=0)
    if longest > num_keys:
        raise ValueError(f"num_keys must be at least the longest text's {longest}, got {num_keys}")
    mask = torch.zeros(len(written), 10, num_keys, dtype=torch.bool)
    for row, date in zip(mask, written, strict=True):
        for part, (start, end) in ISO_PARTS.items():
            row[start:end, slice(*date.spans[part])] = True
    return mask


@functools.cache
def _days(held_out: bool) -> tuple[int, ...]:
    days = range(FIRST_DAY.toordinal(), LAST_DAY.toordinal() + 1)
    return tuple(day for day in days if is_held_out(datetime.date.fromordinal(day)) == held_out)
