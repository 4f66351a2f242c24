"""A class whose guesses are planted: page and table show exactly those, and nobody's name."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from course_utils.checking.progress import Journal
from course_utils.grading.__main__ import main
from course_utils.grading.believing import BINS, PAGE, Believed, believed, guesses
from course_utils.guessing.beliefs import Belief, calibration, due_guesses
from course_utils.guessing.known import known
from course_utils.guessing.question import Question
from course_utils.guessing.scoring import off

NAMES = ["annika_kovacs", "boris_leclerc", "cyril_moss"]


def wrong(question: Question, truth: Any) -> Any:
    """Return a guess that is not close."""
    if question.kind == "choice":
        return next(one for one in question.options if one != truth)
    if question.kind == "order":
        return truth[::-1]
    ends = question.low, question.high
    if question.kind == "curve":
        return [max(ends, key=lambda end: off_at(question, y, end)) for y in truth]
    return max(ends, key=lambda end: off(question, end, truth))


def off_at(question: Question, value: float, end: float) -> float:
    alone = Question(**{**vars(question), "kind": "number", "x": ()})
    return off(alone, end, value)


def guess_all(folder: Path, name: str, is_right: bool) -> Journal:
    """Write the journal of a learner who guesses every question of the course."""
    journal = Journal(folder / name / "progress.jsonl")
    for question, truth, _ in known().values():
        asked = question.posed(0)
        given = truth if is_right else wrong(asked, truth)
        more = {"given": given, "truth": truth, "off": round(off(asked, given, truth), 4)}
        journal.path.parent.mkdir(exist_ok=True)
        with journal.path.open("a") as file:
            event = {"time": 1, "event": "guess", "exercise": question.name, **more}
            file.write(json.dumps(event) + "\n")
    return journal


def test_a_class_s_guesses_through_all_chapters_are_counted_as_planted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in NAMES:
        guess_all(tmp_path, name, is_right=name == NAMES[0])
    assert main(["report", str(tmp_path)]) == 0
    rows = list(csv.DictReader((tmp_path / "guesses.csv").read_text().splitlines()))
    assert [row["question"] for row in rows] == [name for name in known() for _ in NAMES]
    assert all((float(row["off"]) == 0) == (row["learner"] == "1") for row in rows)
    page = (tmp_path / PAGE).read_text()
    assert page.count("1 of 3 first guesses are close.") == len(known())
    assert not any(part in page for name in NAMES for part in name.split("_"))
    assert PAGE in (tmp_path / "report.html").read_text()
    for row in known().values():
        assert row.question.posed(0).asks in page or "&#" in page


def test_calibration_counts_what_was_planted(tmp_path: Path) -> None:
    everything = set(range(21))
    right = calibration(guess_all(tmp_path, "a", is_right=True).events(), everything)
    assert right.startswith(f"{len(known())} of {len(known())} guesses given")
    assert " 0 too high, 0 too low" in right
    numbers = [row.question for row in known().values() if row.question.kind == "number"]
    some = calibration(guess_all(tmp_path, "b", is_right=False).events(), everything)
    assert f"of {len(numbers)} numbers 0 close" in some
    wrongly = Journal(tmp_path / "b" / "progress.jsonl")
    assert {one.name for one, _ in due_guesses(wrongly.events(), 3 * 86400)} == set(known())
    assert due_guesses(Journal(tmp_path / "a" / "progress.jsonl").events(), 3 * 86400) == []


def test_a_second_guess_after_a_discussion_stands_beside_the_first(tmp_path: Path) -> None:
    question, truth, _ = next(r for r in known().values() if r.question.kind == "number")
    lines = [
        {"time": time, "event": "guess", "exercise": question.name, "given": given, "off": share}
        for time, given, share in ((1, question.high, 0.9), (2, truth, 0.0))
    ]
    entries = [("ada", {**line, "truth": truth}) for line in lines]
    (one,) = believed(guesses(entries))
    assert one.close == "0 of 1 first guesses are close; 1 of 1 last guesses are close"
    assert [sum(count for _, count, _ in one.bars(some)) for some in (one.first, one.last)] == [
        1,
        1,
    ]
    assert len(one.bars(one.first)) == BINS
    assert [right for _, count, right in one.bars(one.last) if count] == [True]


@pytest.mark.parametrize("given", ["ten", None, True, [1, 2], {"a": 1}])
def test_what_could_not_be_a_guess_is_left_out(given: Any) -> None:
    name, row = next((n, r) for n, r in known().items() if r.question.kind == "number")
    said = {"time": 1, "event": "guess", "exercise": name, "truth": row.truth, "off": 0.5}
    assert believed(guesses([("ada", {**said, "given": given})])) == []
    assert believed(guesses([("ada", {**said, "given": 1, "off": "far"}), ("ada", {})])) == []


def test_a_curve_s_guesses_are_counted_by_their_distance() -> None:
    question = Question(
        **{"name": "03.c", "kind": "curve", "asks": "How?", "reads": "{x} {}"}, x=[1, 2]
    )
    some = [Belief("03.c", 1.0, [0.0, 0.0], [0.5, 0.5], 0.5), Belief("03.c", 1.0, [], [], 1.0)]
    assert Believed(question, [0.5, 0.5]).bars(some) == [
        ("0 to 10% off", 0, True), ("50 to 60% off", 1, False), ("90 to 100% off", 1, False),
    ]  # fmt: skip
