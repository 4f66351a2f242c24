"""The record of changed references, and the page's part made of it."""

import re

from book import unlisted
from course_utils.exercises import all_exercises

ROWS = unlisted.load()["rows"]
TITLES = {f"{exercise.chapter:02}": "A chapter" for exercise in all_exercises()}


def test_record_holds_every_exercise_in_the_order_of_teaching() -> None:
    assert [row["exercise"] for row in ROWS] == [exercise.name for exercise in all_exercises()]


def test_at_least_99_percent_are_caught_and_every_survivor_has_its_reason() -> None:
    survivors = [one for row in ROWS for one in row["survivors"]]
    caught = sum(row["caught"] for row in ROWS)
    assert caught / (caught + sum(bool(one["differs"]) for one in survivors)) >= 0.99
    assert all(one["reason"] for one in survivors)
    for row in ROWS:
        assert row["made"] == row["caught"] + len(row["survivors"])


def test_page_shows_all_counts_and_all_survivors() -> None:
    text = unlisted.markdown(TITLES)
    total = text[text.index("<strong>all</strong>") :].partition("</tr>")[0]
    made, caught, equal, missed = (
        int(number.replace(",", "")) for number in re.findall(r"<td>([\d,]+)</td>", total)
    )
    assert made == caught + equal + missed == sum(row["made"] for row in ROWS)
    for row in ROWS:
        shown = f"<code>{row['exercise']}</code>: {len(row['survivors'])} of {row['made']} pass"
        assert (shown in text) == bool(row["survivors"])
