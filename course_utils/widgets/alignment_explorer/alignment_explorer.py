"""The picture of chapter 02: where a model looked in the source for each character it wrote."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import traitlets

from course_utils.plain_validation import check_instance, check_strings
from course_utils.widgets.traits import CourseWidget, Index, Items

_WANTED = ("text", "iso", "locale", "spans")


class AlignmentExplorer(CourseWidget, page="alignment_explorer"):
    """The widget that ``alignment_explorer`` makes; its traits follow what the reader chooses."""

    sources = Items(help="For each date its text, iso, locale and spans.")
    scores = traitlets.List(traitlets.Unicode(), help="Names of the scores.")
    written = Items(help="For each score what it wrote, one text per date.")
    data = traitlets.Bytes(
        help="Weights in percent, a byte each: score, date, written character, source character."
    )
    score = Index(0, 0, lambda self: len(self.scores) - 1, help="The scoring function shown.")
    date = Index(0, 0, lambda self: len(self.sources) - 1, help="The date shown.")
    place = Index(
        0, 0, lambda self: max(len(text) for run in self.written for text in run) - 1,
        help="The written character asked about.",
    )  # fmt: skip

    def __repr__(self) -> str:
        return f"AlignmentExplorer({len(self.scores)} scores, {len(self.sources)} dates)"


def alignment_explorer(
    record: Mapping[str, Any],
    *,
    locales: Sequence[str] | None = None,
    score: str = "additive",
) -> AlignmentExplorer:
    """Show recorded alignments: choose a score and a date, then point at a written character.

    Args:
        record: As ``course_utils.measure.read_record("chapter_02_alignments")`` returns it. Runs
            without weights are left out.
        locales: Show the first recorded date of each of these; None shows all dates.
        score: The scoring function shown first.

    Raises:
        ValueError: The record lacks a part, a locale or the score is not in it, or a percentage is
            not between 0 and 100.
    """
    check_instance(Mapping, record=record)
    if locales is not None:
        check_strings(locales=locales)
    if not {"sources", "runs"} <= record.keys():
        raise ValueError(f"record must hold sources and runs, got {sorted(record)}")
    chosen = _choose([source["locale"] for source in record["sources"]], locales)
    runs = [run for run in record["runs"] if all("percent" in row for row in run["written"])]
    names = [run["context"] for run in runs]
    if score not in names:
        raise ValueError(f"score must be one of {', '.join(names)}, got {score!r}")
    rows = [[run["written"][index] for index in chosen] for run in runs]
    return AlignmentExplorer(
        sources=[{name: record["sources"][index][name] for name in _WANTED} for index in chosen],
        scores=names,
        written=[[row["text"] for row in run] for run in rows],
        data=_pack(
            value for run in rows for row in run for line in row["percent"] for value in line
        ),
        score=names.index(score),
    )


def _choose(known: list[str], wanted: Sequence[str] | None) -> list[int]:
    if wanted is None:
        return list(range(len(known)))
    missing = sorted(set(wanted) - set(known))
    if missing:
        raise ValueError(f"locales must be in the record, got {missing}")
    return [known.index(locale) for locale in wanted]


def _pack(values: Iterable[int]) -> bytes:
    percent = list(values)
    if any(not 0 <= value <= 100 for value in percent):
        raise ValueError("percentages must lie between 0 and 100")
    return bytes(percent)
