import json
from pathlib import Path
from typing import Any

import pytest

from course_utils.guessing.known import known
from course_utils.guessing.question import Question, truth, varied_truth

NUMBER: dict[str, Any] = {"name": "03.x", "kind": "number", "asks": "How many?", "reads": "rows {}"}
PRINTED = """\
rows 1,024 of 2
length  128: 0.50 s, 3 MiB
length  256: 0.25 s, 6 MiB
CNN, seed 0  0.998
ViT, seed 0  0.973
SVM, seed 0  0.989
error −3e-5
same: True
"""


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({}, 1024),
        ({"reads": "rows {_} of {}"}, 2),
        ({"reads": "error {}"}, -3e-5),
        ({"kind": "curve", "x": [128, 256], "reads": "length {x}: {} s"}, [0.5, 0.25]),
        ({"kind": "curve", "x": [256], "reads": "length {x}:{_}s, {} MiB", "across": "n"}, None),
        (
            {
                "kind": "choice",
                "take": "largest",
                "options": {"CNN": "CNN, seed 0 {}", "ViT": "ViT, seed 0 {}"},
            },
            "CNN",
        ),
        (
            {
                "kind": "order",
                "take": "ascending",
                "options": {n: f"{n}, seed 0 {{}}" for n in ("CNN", "SVM", "ViT")},
            },
            ["ViT", "SVM", "CNN"],
        ),
        (
            {
                "kind": "choice",
                "take": "printed",
                "options": {"yes": "same: True", "no": "same: False"},
            },
            "yes",
        ),
    ],
)
def test_what_was_measured_is_read_off_the_output(changes: dict[str, Any], found: Any) -> None:
    if found is None:
        with pytest.raises(ValueError, match="x must be two to twelve places"):
            Question(**{**NUMBER, **changes})
    else:
        assert truth(Question(**{**NUMBER, **changes}), PRINTED) == found


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"reads": "columns {}"}, "nothing printed looks like 'columns {}'"),
        (
            {"kind": "curve", "x": [128, 512], "reads": "length {x}: {}"},
            r"no number is found at \[512",
        ),
        (
            {"kind": "choice", "take": "printed", "options": {"a": "CNN", "b": "ViT"}},
            "exactly one option must be printed",
        ),
    ],
)
def test_an_answer_that_is_not_there_is_said(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(LookupError, match=says):
        truth(Question(**{**NUMBER, **changes}), PRINTED)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"name": "share"}, "a chapter's number and a word"),
        ({"kind": "picture"}, "kind must be one of number, choice, order, curve"),
        ({"asks": "How many."}, "asks must be a question"),
        ({"low": 2, "high": 1}, "low must be below high"),
        ({"log": True}, "above 0 if log"),
        ({"kind": "choice", "options": {"a": ""}, "take": "largest"}, "two to six options"),
        ({"kind": "order", "take": "largest"}, "take must be one of ascending, descending"),
        ({"reads": ""}, "reads must say where"),
    ],
)
def test_a_question_that_no_guess_could_answer_is_refused(changes: Any, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        Question(**{**NUMBER, **changes})


def test_an_answer_in_a_record_follows_the_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [{"n": n, "seed": seed, "loss": n + seed} for n in (1, 2) for seed in (0, 1)]
    record = tmp_path / "trial.json"
    monkeypatch.setattr(
        "course_utils.measure.record.read_record", lambda _: json.loads(record.read_text())
    )
    where = {"record": "trial", "value": "loss"}
    number = Question(**{**NUMBER, "reads": {**where, "where": {"n": 2}}})
    curve = Question(**{**NUMBER, "kind": "curve", "x": [1, 2], "reads": {**where, "by": "n"}})
    record.write_text(json.dumps({"runs": rows}))
    assert (truth(number, ""), truth(curve, "")) == (2.5, [1.5, 2.5])
    record.write_text(json.dumps({"runs": [{**row, "loss": 10 * row["loss"]} for row in rows]}))
    assert (truth(number, ""), truth(curve, "")) == (25, [15, 25])


def test_a_question_comes_back_in_other_numbers() -> None:
    asked = Question(
        **{**NUMBER, "asks": "Bytes for {n} tokens?", "becomes": "4 * n * n"},
        varied=[{"n": 1000}, {"n": 30}],
    )
    assert [asked.posed(times).asks for times in (0, 1, 2)] == [
        "Bytes for 1,000 tokens?",
        "Bytes for 30 tokens?",
        "Bytes for 1,000 tokens?",
    ]
    assert [varied_truth(asked, times) for times in (0, 1)] == [4e6, 3600]


def test_every_chapter_asks_for_guesses_and_curves_are_drawn_in_ten() -> None:
    kinds: dict[int, list[str]] = {}
    for row in known().values():
        kinds.setdefault(row.question.chapter, []).append(row.question.kind)
    assert {
        chapter: len(some) for chapter, some in kinds.items() if chapter and len(some) < 4
    } == {}
    assert sorted(kinds) == list(range(21))
    assert sum("curve" in some for some in kinds.values()) >= 10


def test_no_answer_stands_at_the_middle_or_beyond_the_end_of_a_scale() -> None:
    from course_utils.guessing.scoring import place

    wrong = []
    for name, (question, measured, _) in known().items():
        if question.kind == "number":
            at = place(question, float(measured))  # type: ignore[arg-type]
            if not 0.02 <= at <= 0.98 or abs(at - 0.5) < 0.01:
                wrong.append((name, measured))
    assert wrong == []
