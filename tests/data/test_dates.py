import datetime

import pytest
import torch

from course_utils.data import (
    END,
    HELD_OUT_LOCALES,
    LOCALES,
    START,
    UNKNOWN,
    DateTokens,
    field_mask,
    is_held_out,
    sample_dates,
    write_date,
)
from course_utils.data.dates import FIRST_DAY, LAST_DAY, _days
from course_utils.measure import read_record

FIRST_HELD_OUT = ["1900-01-01", "1900-01-31", "1900-02-02", "1900-02-23"]
HELD_OUT_SUM = 535321


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@pytest.mark.thorough
def test_a_tenth_of_the_days_is_held_out() -> None:
    assert len(_days(True)) + len(_days(False)) == (LAST_DAY - FIRST_DAY).days + 1
    assert len(_days(True)) / len(_days(False)) == pytest.approx(1 / 9, rel=0.03)


def test_the_split_is_the_one_that_was_recorded_with_the_measurements() -> None:
    days = [datetime.date.fromordinal(day) for day in _days(True)[:4]]
    assert [day.isoformat() for day in days] == FIRST_HELD_OUT
    assert sum(_days(True)) % 1_000_003 == HELD_OUT_SUM


def test_held_out_days_are_spread_over_months_weekdays_and_days_of_the_month() -> None:
    dates = [datetime.date.fromordinal(day) for day in _days(True)]
    for kinds, count in (
        ([day.month for day in dates], 12),
        ([day.weekday() for day in dates], 7),
        ([day.day for day in dates if day.day < 29], 28),
    ):
        shares = [kinds.count(kind) / len(kinds) for kind in set(kinds)]
        assert len(shares) == count
        assert min(shares) > 0.75 / count
        assert max(shares) < 1.25 / count


def test_no_held_out_day_is_drawn_for_training_and_no_other_for_the_test() -> None:
    for held_out in (False, True):
        drawn = sample_dates(500, seeded(), held_out=held_out)
        assert {is_held_out(written.date) for written in drawn} == {held_out}


@pytest.mark.thorough
def test_no_text_of_the_test_stands_in_the_training_part() -> None:
    learnt = {written.text for written in sample_dates(20_000, seeded(1))}
    assert not learnt & {written.text for written in sample_dates(500, seeded(2), held_out=True)}


def test_every_locale_is_drawn_and_no_held_out_one() -> None:
    assert {written.locale for written in sample_dates(1000, seeded())} == set(LOCALES)
    far = sample_dates(200, seeded(), locales=HELD_OUT_LOCALES)
    assert {written.locale for written in far} == set(HELD_OUT_LOCALES)


def test_the_same_seed_draws_the_same_dates_and_leaves_the_global_one_alone() -> None:
    state = torch.get_rng_state()
    assert sample_dates(50, seeded(3)) == sample_dates(50, seeded(3))
    assert sample_dates(50, seeded(3)) != sample_dates(50, seeded(4))
    assert torch.equal(torch.get_rng_state(), state)


def test_drawing_from_no_locale_is_refused() -> None:
    with pytest.raises(ValueError, match="locales must name at least one, got none"):
        sample_dates(1, seeded(), locales=())


def test_pairs_hold_text_and_iso_as_numbers() -> None:
    written = sample_dates(40, seeded())
    tokens = DateTokens.of(written)
    pairs = tokens.pairs(written)
    assert tuple(pairs.target.shape) == (40, 12)
    for date, source, target in zip(written, pairs.source, pairs.target, strict=True):
        assert tokens.source.decode(source) == date.text
        assert (int(target[0]), int(target[-1])) == (START, END)
        assert tokens.target.decode(target) == date.iso


def test_a_script_that_training_never_showed_is_unknown() -> None:
    tokens = DateTokens.of(sample_dates(2000, seeded()))
    georgian = tokens.pairs([write_date(datetime.date(2021, 3, 4), "ka_GE", "long")])
    assert int((georgian.source == UNKNOWN).sum()) == len("მარტი")


def test_the_field_mask_marks_the_field_of_each_written_character() -> None:
    written = write_date(datetime.date(2021, 3, 4), "en_US", "long")  # march 4, 2021
    mask = field_mask([written], 15)
    assert mask.shape == (1, 10, 15)
    marked = ["".join("march 4, 2021"[i] for i in row.nonzero().flatten()) for row in mask[0]]
    assert marked == ["2021"] * 4 + [""] + ["march"] * 2 + [""] + ["4"] * 2


def test_a_text_longer_than_the_field_mask_is_refused() -> None:
    written = write_date(datetime.date(2021, 3, 4), "en_US", "long")
    with pytest.raises(ValueError, match="at least the longest text's 13, got 12"):
        field_mask([written], 12)


def test_recorded_sources_are_held_out_days_as_they_are_written_today() -> None:
    for source in read_record("chapter_02_alignments")["sources"]:
        date = datetime.date.fromisoformat(source["iso"])
        written = write_date(date, source["locale"], source["style"])
        assert is_held_out(date)
        assert written.text == source["text"]
        assert {part: list(span) for part, span in written.spans.items()} == source["spans"]
