import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

import course_utils
from course_utils import check, dispute, hint, mine, progress, review, solution, sources
from course_utils.checking.progress import Journal
from course_utils.checking.report import NotPassedError, Report
from course_utils.checking.reviewing import Due, due
from course_utils.exercises import find
from course_utils.notes import helped
from course_utils.overview import duration


@pytest.fixture(autouse=True)
def own_journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATTENTION_COURSE_PROGRESS", str(tmp_path / "progress.jsonl"))


def test_a_verdict_is_remembered() -> None:
    assert check("softmax_jacobian", lambda w: torch.diag_embed(w)).status == "misconception"
    assert "softmax_jacobian              tried" in str(progress(3))
    right = check(
        "softmax_jacobian", lambda w: torch.diag_embed(w) - w[..., None] * w[..., None, :]
    )
    assert right.passed
    assert "1 of 6 exercises passed" in str(progress(3))


def test_nbgrader_sees_an_error_where_an_answer_does_not_pass(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("NBGRADER_EXECUTION", "validate")
    with pytest.raises(NotPassedError, match="softmax_jacobian: Not yet"):
        check("softmax_jacobian", lambda w: torch.diag_embed(w))


def test_a_misspelt_name_gets_a_card_that_lists_the_near_ones() -> None:
    report = check("stable_sofmax", len)
    assert (report.status, report.passed) == ("unknown", False)
    assert report.says.startswith("No exercise is called 'stable_sofmax'; there is stable_softmax")
    for call in (hint, solution, mine, dispute):
        assert "'stable_sofmax'; there is stable_softmax" in call("stable_sofmax").text
    assert list(Journal().events()) == []


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ((len,), 'The exercise\'s name comes first: `check("len", len)`.'),
        ((len, "stable_softmax"), "The exercise's name comes first"),
        (("stable_softmax",), 'The function itself is missing: `check("stable_softmax", stab'),
        ((), "It takes an exercise's name and a function"),
        ((torch.ones(3), len), "It takes an exercise's name and a function"),
    ],
)
def test_a_call_that_lacks_a_name_or_a_function_gets_a_card(given, says) -> None:
    report = check(*given)
    assert report.status == "unknown"
    assert report.says.startswith(says)


def test_a_result_instead_of_the_function_gets_a_card() -> None:
    report = check("stable_softmax", torch.ones(2, 3))
    assert report.status == "wrong_type"
    assert "without calling it" in report.says


def test_a_call_without_a_name_proposes_the_exercise_at_hand() -> None:
    check("softmax_jacobian", lambda w: torch.diag_embed(w))
    for call in (hint, solution, dispute):
        assert f'`{call.__name__}("softmax_jacobian")`' in call().text
    assert "<code></code>" not in hint()._repr_html_()


def test_a_checker_that_fails_is_said_not_to_be_the_learner_s_fault(monkeypatch) -> None:
    def broken(*args: object) -> None:
        raise RuntimeError("oh")

    monkeypatch.setattr("course_utils.learner.judge", broken)
    report = check("softmax_jacobian", len)
    assert report.status == "crashed"
    assert "RuntimeError: oh. That is a fault of the course" in report.says


def test_an_error_of_a_learner_s_call_is_shown_without_a_traceback() -> None:
    with pytest.raises(ValueError, match="chapter must be one of") as caught:
        progress(99)
    assert caught.value._render_traceback_() == [str(caught.value)]
    with pytest.raises(KeyError, match="no exercise is called 'foo'") as unknown:
        find("foo")
    assert str(unknown.value).startswith("no exercise")


def test_hints_come_one_at_a_time_and_the_last_lists_all() -> None:
    titles = [hint("stable_softmax").title for _ in range(5)]
    assert titles[:4] == [f"Hint {i} of 4" for i in (1, 2, 3, 4)]
    assert titles[4].startswith("That was the last hint")
    assert hint("stable_softmax", 2).title == "Hint 2 of 4"
    assert hint("stable_softmax", 9).text == "It has the hints 1 to 4."


def test_the_solution_asks_for_an_attempt_first() -> None:
    assert solution("stable_softmax").title == "Try it first"
    check("stable_softmax", None)
    assert solution("stable_softmax").title == "Try it first"
    check("stable_softmax", torch.exp)
    assert solution("stable_softmax").title != "Try it first"
    assert solution("attention_weights", anyway=True).title != "Try it first"


def test_the_solution_is_the_chapter_s_own_and_passes(tmp_path, monkeypatch) -> None:
    (tmp_path / "03_x.py").write_text(
        '# %% exercise="stable_softmax"\ndef stable_softmax(s):\n    ### BEGIN SOLUTION: do\n'
        "    return s\n    ### END SOLUTION\n\n# %%\nother = 1\n",
        encoding="utf-8",
    )
    monkeypatch.setattr(sources, "FOLDERS", (tmp_path,))
    shown = solution("stable_softmax", anyway=True)
    assert shown.code == "def stable_softmax(s):\n    return s"


def test_a_missing_source_is_said(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(sources, "FOLDERS", (tmp_path,))
    assert "not here" in solution("stable_softmax", anyway=True).title


def test_a_name_far_from_all_others_suggests_none() -> None:
    assert hint("foo").text == "No exercise is called 'foo'; progress() lists them all."
    assert "called 'rope'; there is rope_interleaved" in hint("rope").text


def test_progress_knows_its_chapters() -> None:
    assert "0 of 6" in str(progress(3))
    with pytest.raises(ValueError, match="got 99"):
        progress(99)


def test_progress_says_what_is_next_and_what_is_left() -> None:
    assert progress(1).next_row.name == "rnn_step"
    minutes = {
        further: sum(row.minutes for row in progress(3).rows if row.further == further)
        for further in (False, True)
    }
    first, second, *_ = progress(3).rows
    check(second.name, find(second.name).reference)
    seen = progress(3)
    assert seen.next_row == seen.rows[2]
    text = str(seen).splitlines()
    assert text[0] == "1 of 6 exercises passed"
    assert text[1] == f"Next: {seen.rows[2].name}, chapter 03, {seen.rows[2].minutes} minutes."
    core, further = duration(minutes[False] - second.minutes), duration(minutes[True])
    assert text[2] == f"Left: {core} on the core path, {further} further."
    title = "chapter 03 Write scaled dot-product attention"
    assert text[4] == f"{title}: 1 of 6, {core} left, {further} further"
    for row in seen.rows[2:]:
        if not row.further:
            check(row.name, find(row.name).reference)
    assert progress(3).next_row.name == first.name, "what was left out comes before what is further"
    check(first.name, find(first.name).reference)
    assert progress(3).next_row.further
    for row in seen.rows[2:]:
        check(row.name, find(row.name).reference)
    assert "Nothing is left to do here." in str(progress(3))
    assert progress(3).next_row is None


def test_the_card_of_progress_says_in_words_what_its_bars_show() -> None:
    check("softmax_jacobian", lambda w: w)
    seen = progress()
    page = seen._repr_html_()
    chapters = {row.chapter for row in seen.rows}
    for chapter in chapters:
        rows = [row for row in seen.rows if row.chapter == chapter]
        assert f'aria-label="0 of {len(rows)} passed' in page
    assert 'title="softmax_jacobian: tried"' in page
    assert page.count("<th scope=") == 5 + len(chapters)


def test_titles_are_links_where_the_notebook_is_beside_the_reader_s(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "03_scaled_dot_product.ipynb").touch()
    link = '<a href="03_scaled_dot_product.ipynb">03 Write scaled dot-product attention</a>'
    for seen in (progress(), progress(3)):
        assert link in seen._repr_html_()
        assert seen._repr_html_().count("<a href=") == 1


def test_without_the_sources_progress_has_no_titles_and_one_sum(monkeypatch) -> None:
    monkeypatch.setattr(sources, "FOLDERS", ())
    assert str(progress(3)).splitlines()[4].startswith("chapter 03: 0 of 6, 1 h 15 min left")


def test_a_verdict_ends_with_the_call_that_helps_and_after_three_with_the_solution() -> None:
    lines = [str(check("softmax_jacobian", torch.exp)).splitlines()[-1] for _ in range(3)]
    first, third = 'When you are stuck: `hint("softmax_jacobian")`', lines.pop()
    assert lines == [first, first]
    assert third == f'{first}, and one way to write it: `solution("softmax_jacobian")`'
    card = check("softmax_jacobian", torch.exp)._repr_html_()
    assert card.endswith('write it: <code>solution("softmax_jacobian")</code></p></div>')
    for status in ("passed", "not_attempted", "unknown"):
        assert helped(Report("softmax_jacobian", status, "")).note is None


@pytest.mark.parametrize(
    ("minutes", "words"), [(5, "5 min"), (60, "1 h"), (61, "1 h 1 min"), (0, "0 min")]
)
def test_minutes_are_said_in_hours(minutes, words) -> None:
    assert duration(minutes) == words


def test_the_face_is_cheap_and_loads_nothing_else() -> None:
    code = (
        "import sys, typing, importlib; before = set(sys.modules); import course_utils; "
        "print(*sorted(set(sys.modules) - before), '|', *dir(course_utils))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded, _, names = done.stdout.partition("|")
    assert set(loaded.split()) <= {"__future__", "course_utils"}
    assert set(course_utils.__all__) <= set(names.split())


def test_the_face_has_what_it_promises_and_nothing_else() -> None:
    for name in course_utils.__all__:
        assert callable(getattr(course_utils, name))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        course_utils.nothing  # noqa: B018


def test_what_was_hard_comes_back_at_growing_distances() -> None:
    def event(day: float, name: str, status: str, *named: str) -> dict[str, object]:
        kind = {"event": "check", "exercise": name, "misconceptions": list(named)}
        return {"time": day * 86_400, "status": status, **kind}

    events = [
        event(0, "split_heads", "not_attempted"),
        event(0, "split_heads", "misconception", "reshape only"),
        event(0, "split_heads", "different"),
        event(0, "split_heads", "passed"),
        event(0.5, "split_heads", "passed"),  # the same day: not from memory
        event(1, "merge_heads", "passed"),
        event(1, "stable_softmax", "different"),
    ]
    assert due(events, 1.9 * 86_400) == []
    split, merge = Due("split_heads", 3, 2, ("reshape only",)), Due("merge_heads", 2, 0, ())
    assert due(events, 3 * 86_400) == [split, merge]
    again = [*events, event(3, "split_heads", "passed")]
    assert [one.exercise for one in due(again, 9 * 86_400)] == ["merge_heads"]
    assert [one.exercise for one in due(again, 10 * 86_400)] == ["split_heads", "merge_heads"]
    often = [event(day, "split_heads", "passed") for day in (0, 2, 9, 30, 90)]
    assert due(often, 500 * 86_400) == []


def test_what_is_proposed_shows_the_task_and_a_stub(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert "Nothing to write again today" in str(review())
    with pytest.raises(ValueError, match="most must be at least 1, got 0"):
        review(0)
    Journal().add("check", "softmax_jacobian", status="misconception", misconceptions=["only diag"])
    Journal().add("check", "softmax_jacobian", status="passed", misconceptions=[])
    assert "Nothing" in str(review())
    real = time.time()
    monkeypatch.setattr(time, "time", lambda: real + 3.5 * 86_400)
    proposed = review()
    assert "`softmax_jacobian` (chapter 03), passed 3 days ago, after 1 that did not pass" in str(
        proposed
    )
    assert "only diag" in proposed.text
    assert "raise NotImplementedError" in proposed.code
    compile(proposed.code, "stub", "exec")
