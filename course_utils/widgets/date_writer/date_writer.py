"""The picture of chapters 02 and 11: a trained model writes the date that one types."""

from collections.abc import Mapping
from typing import Any

import traitlets

from course_utils.plain_validation import check_instance
from course_utils.widgets.traits import CourseWidget, Index, Items, Number, Whole

SURE = 0.9
"""From this probability on the page calls the model sure; what that is worth is in the record."""

# One day that was kept from training, as people in eight languages write it, and what is no date.
EXAMPLES = (
    "13. März 2021", "March 13th, 2021", "13 марта 2021 г.", "2021年3月13日", "١٣ مارس ٢٠٢١",
    "১৩ মার্চ, ২০২১", "13 tháng 3, 2021", "2021. március 13.", "next Friday", "22nd of June 2021",
)  # fmt: skip


class DateWriter(CourseWidget, page="date_writer"):
    """The widget that ``date_writer`` makes; its traits follow what the reader types."""

    weights = traitlets.Unicode(help="The model in blocks of Q8_0, in base64.")
    parts = Items(help="Name and shape of each part of the model, in order.")
    alphabet = traitlets.Unicode(help="The characters that the model knows, by their numbers.")
    languages = Whole(0, help="How many languages it was trained on.")
    sure = Number(SURE, 0, 1, help="From this probability on it is called sure.")
    measured = traitlets.Unicode(help="What was measured, in words.")
    examples = traitlets.List(traitlets.Unicode(), help="Texts to choose from.")
    text = traitlets.Unicode(help="What is typed.")
    place = Index(0, 0, 10, help="The written sign asked about, from 0.")

    def __repr__(self) -> str:
        return f"DateWriter({self.text!r}, place={self.place})"


def date_writer(
    text: str = EXAMPLES[0], *, record: Mapping[str, Any] | None = None, place: int = 6
) -> DateWriter:
    """Write a typed date as YYYY-MM-DD with chapter 02's model, and show where it reads.

    Args:
        text: What is typed at first.
        record: As ``course_utils.measure.read_record("chapter_02_writer")`` returns it, which is
            what None takes: a run that carries the model, and what its probabilities are worth.
        place: The written sign that is asked about at first, from 0.

    Raises:
        ValueError: The record lacks a part.
    """
    check_instance(str, text=text)
    if record is None:
        from course_utils.measure import read_record

        record = read_record("chapter_02_writer")
    check_instance(Mapping, record=record)
    if not {"runs", "sure", "by_locale"} <= record.keys():
        raise ValueError(f"record must hold runs, sure and by_locale, got {sorted(record)}")
    run = record["runs"][0]
    return DateWriter(
        weights=run["weights"],
        parts=run["layout"],
        alphabet=run["alphabet"],
        languages=len({row["locale"].partition("_")[0] for row in record["by_locale"]}),
        measured=_measured(run, record["sure"]),
        examples=list(EXAMPLES),
        text=text,
        place=place,
    )


def _measured(run: Mapping[str, Any], rows: list[dict[str, Any]]) -> str:
    """Return what the record says of the model: its size, its errors, what "sure" is worth."""
    reach = {row["kind"]: row["reach"][row["thresholds"].index(SURE)] for row in rows}
    texts = {row["kind"]: row["texts"] for row in rows}
    words, parts = "words", "dates without year, month or day"
    return (
        f"{run['parameters']:,} numbers of 8 bits. Of {run['dates']:,} dates whose days were kept "
        f"from training {run['right']:,} are right. It is called sure from {SURE} on: at "
        f"{reach['dates']:,} of these dates, at {reach[words]:,} of {texts[words]:,} texts without "
        f"a date, but also at {reach[parts]:,} of {texts[parts]:,} dates that lack their year, "
        f"month or day. It can be sure and wrong, as with “{EXAMPLES[-1]}”: no text of its "
        "training had that form."
    )
