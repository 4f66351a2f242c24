"""The report of a class whose mistakes are known shows exactly those, and nobody's name."""

import csv
import json
from pathlib import Path

import pytest
import torch

from course_utils import check, dispute
from course_utils.checking.progress import Journal
from course_utils.exercises import find
from course_utils.grading.__main__ import main
from course_utils.grading.class_report import Attempt, ClassReport, attempts, initials, write

SPLIT = [one.name for one in find("split_heads").mistakes][:2]
MERGE = next(one.name for one in find("merge_heads").mistakes if one.name not in SPLIT)
NAMES = [f"{a}_{b}" for a in ("annika", "boris", "cyril") for b in ("kovacs", "leclerc", "moss")]


def handed_in() -> list[Attempt]:
    """Nine learners: five split wrongly, four of whom merge wrongly; two correct it later."""
    made = []
    for number, name in enumerate(NAMES):
        wrong = number < 5
        made.append(Attempt(name, "split_heads", 1.0, not wrong, (SPLIT[0],) if wrong else ()))
        made.append(Attempt(name, "merge_heads", 1.0, number >= 4, (MERGE,) if number < 4 else ()))
    made += [Attempt(name, "split_heads", 2.0, True, ()) for name in NAMES[:2]]
    made.append(Attempt(NAMES[8], "mha_parameters", 1.0, False, ("no such mistake",)))
    made.append(Attempt(NAMES[8], "no such exercise", 1.0, False, (SPLIT[1],)))
    return made


def test_exactly_the_mistakes_that_were_made_are_counted() -> None:
    report = ClassReport(handed_in())
    assert [(r.exercise.name, r.tried, r.first, r.now, r.again) for r in report.rows] == [
        ("split_heads", 9, 4, 6, 2), ("merge_heads", 9, 5, 5, 0), ("mha_parameters", 1, 0, 0, 0),
    ]  # fmt: skip
    counted = [(m.name, len(m.learners), len(m.still), m.exercises) for m in report.mistakes]
    assert counted == [(SPLIT[0], 5, 3, ("split_heads",)), (MERGE, 4, 4, ("merge_heads",))]
    assert [(a.name, b.name, count) for a, b, count in report.pairs] == [(SPLIT[0], MERGE, 4)]
    assert [one.name for one in report.lecture] == [MERGE, SPLIT[0]]
    assert dict(report.stuck) == {
        **{name: [("merge_heads", 1)] for name in NAMES[:2]},
        **{name: [("split_heads", 1), ("merge_heads", 1)] for name in NAMES[2:4]},
        NAMES[4]: [("split_heads", 1)],
        NAMES[8]: [("mha_parameters", 1)],
    }
    assert [len(stuck) for _, stuck in report.stuck] == [2, 2, 1, 1, 1, 1]


def test_results_and_handed_in_journals_are_read_alike(tmp_path: Path) -> None:
    verdict = {"exercise": "split_heads", "status": "different", "misconceptions": [SPLIT[0]]}
    untouched = {"exercise": "merge_heads", "status": "not_attempted", "misconceptions": []}
    result = {"learner": "ada", "time": 1, "digest": "", "reports": [verdict, untouched]}
    (tmp_path / "results.jsonl").write_text(f'{json.dumps(result)}\n[1]\n{{"torn": ')
    journal = Journal(tmp_path / "ben" / "progress.jsonl")
    journal.add("hint", "split_heads", number=1)
    journal.add("check", "split_heads", status="passed", misconceptions=[])
    ada, ben = sorted(attempts(tmp_path), key=lambda one: one.learner)
    assert ada == Attempt("ada", "split_heads", 1.0, False, (SPLIT[0],))
    assert (ben.learner, ben.passed, ben.mistakes) == ("ben", True, ())
    alone = list(attempts(tmp_path / "ben" / "progress.jsonl"))
    assert [one.learner for one in alone] == ["progress"]


def test_the_page_and_its_tables_name_nobody(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = write(ClassReport(handed_in()), tmp_path).read_text()
    assert SPLIT[0][1:] in page
    assert not any(part in page for name in NAMES for part in name.split("_"))
    assert all(part in page for part in ("A. K.", "learner 9"))
    rows = list(csv.reader((tmp_path / "mistakes.csv").read_text().splitlines()))
    assert rows[1] == [SPLIT[0], "5", "3", "split_heads"]
    assert list(csv.reader((tmp_path / "exercises.csv").read_text().splitlines()))[1][2:] == [
        "9",
        "4",
        "6",
    ]
    assert main(["report", str(tmp_path / "none")]) == main(["report", str(tmp_path)]) == 1
    said = capsys.readouterr().err
    assert "there must be a folder or a .jsonl file at" in said
    assert "no verdict on an exercise and no guess" in said


@pytest.mark.parametrize(
    ("login", "letters"),
    [("ada_king", "A. K."), ("ada.king@school.org", "A. K."), ("u1042", "U."), ("_", "")],
)
def test_initials_are_letters_only(login: str, letters: str) -> None:
    assert initials(login) == letters


def test_disputed_verdicts_are_shown_and_judged_again(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("ATTENTION_COURSE_PROGRESS", str(tmp_path / "data" / "progress.jsonl"))
    (tmp_path / "class" / "ada_moss").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "class" / "ada_moss")
    check("softmax_jacobian", softmax_jacobian)
    dispute("softmax_jacobian", "<b>the diagonal</b> is all")
    said = json.loads(Path("dispute_softmax_jacobian.json").read_text())
    right = "def softmax_jacobian(w):\n    return w.diag_embed() - w[..., None] * w[..., None, :]\n"
    Path("dispute_2.json").write_text(json.dumps(said | {"answer": right}))
    for number, text in enumerate(("[1]", "{", json.dumps(said | {"exercise": "none"}))):
        Path(f"dispute_other_{number}.json").write_text(text)
    assert main(["report", str(tmp_path / "class")]) == 0
    page = (tmp_path / "class" / "report.html").read_text(encoding="utf-8")
    assert page.count("<details>") == 2
    assert page.count("Now: Passed.") == 1
    assert page.count("The same now.") == 1
    assert "&lt;b&gt;the diagonal&lt;/b&gt; is all" in page
    assert "moss" not in page.lower()
    assert "torch.diag_embed(w)" in page


def softmax_jacobian(w):
    return torch.diag_embed(w)
