import time
from pathlib import Path

import pytest

from course_utils import sources
from course_utils.checking.progress import Journal
from course_utils.place import find_place, first_page

DAY = 24 * 60 * 60


@pytest.fixture(autouse=True)
def own_journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATTENTION_COURSE_PROGRESS", str(tmp_path / "progress.jsonl"))
    monkeypatch.setattr("course_utils.place._OWN", [])


def checked(name: str, status: str) -> None:
    Journal().add("check", name, status=status, misconceptions=[])


def test_before_the_first_answer_the_first_page_is_opened() -> None:
    checked("encode", "not_attempted")
    assert find_place().page is None
    assert str(find_place()) == "The first exercise is rnn_step, chapter 01."


def test_one_goes_on_where_the_last_answer_did_not_pass() -> None:
    checked("rnn_step", "passed")
    assert str(find_place()) == "Go on with encode, chapter 01."
    checked("attention_weights", "different")
    assert find_place().page == "03_scaled_dot_product"
    assert str(find_place()) == "Go on with attention_weights, chapter 03."
    checked("rnn_step", "different")
    assert find_place().row.name == "encode", "what passed once is passed"


def test_what_is_further_comes_last() -> None:
    for name, place in sources.exercise_places().items():
        if name != "exact_match" and not place.further:
            checked(name, "passed")
    assert find_place().row.name == "exact_match"
    checked("exact_match", "passed")
    assert find_place().row.further
    for name in sources.exercise_places():
        checked(name, "passed")
    assert (find_place().row, find_place().page) == (None, None)
    assert str(find_place()).startswith("All exercises are passed.")


def test_what_is_due_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    checked("rnn_step", "passed")
    assert "To write again" not in str(find_place())
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 3 * DAY)
    assert str(find_place()).splitlines()[1] == (
        "To write again, from memory: rnn_step (review())."
    )
    assert "<code>rnn_step</code> (<code>review()</code>)" in find_place()._repr_html_()


def test_the_card_has_a_link_where_the_notebook_is(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    title = "01 Read a sequence into one vector"
    assert f">{title}<" in find_place()._repr_html_()
    (tmp_path / "01_bottleneck.ipynb").touch()
    assert f'<a href="01_bottleneck.ipynb">{title}</a>' in find_place()._repr_html_()


def test_without_the_chapters_nothing_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    checked("rnn_step", "passed")
    monkeypatch.setattr(sources, "FOLDERS", ())
    assert find_place().page is None
    assert str(find_place()) == "progress() says how far you are."


@pytest.mark.parametrize("named", [True, False])
def test_the_first_page_keeps_what_is_tried_there_to_itself(
    named: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not named:
        monkeypatch.delenv("ATTENTION_COURSE_PROGRESS")
        monkeypatch.setattr("platformdirs.user_data_dir", lambda *_, **__: str(tmp_path))
    checked("rnn_step", "passed")
    assert "encode" in str(first_page())
    checked("encode", "passed")
    assert "encode" in str(first_page()), "run again, it reads the learner's own journal"
    assert len((tmp_path / "progress.jsonl").read_text(encoding="utf-8").splitlines()) == 1
