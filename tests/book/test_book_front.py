"""The front page: its wrong answers and their verdicts, its path, its numbers."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from playwright.sync_api import expect

from book import facts, front, mistakes
from book.contents import SITES
from course_utils.exercises import all_exercises
from tests.book.book_support import ROOT, Visit


def test_each_wrong_answer_has_the_card_of_the_mistake_that_the_checker_names() -> None:
    shown = front.wrong()
    named = [front.verdict(lines).misconception for lines in front.ANSWERS]
    assert len(set(named)) == len(front.ANSWERS)
    assert re.findall(r"Not yet: (.*?)</strong>", shown) == named


def test_an_answer_without_a_mistake_stops_the_build(monkeypatch: pytest.MonkeyPatch) -> None:
    right = front.ANSWERS[0].replace("softmax(s, -2)", "softmax(s, -1).nan_to_num()")
    monkeypatch.setattr(front, "ANSWERS", (right,))
    with pytest.raises(ValueError, match="answer 0 of the front page must have a mistake"):
        front.wrong()


def test_the_path_has_each_chapter_with_its_question_and_its_core_minutes() -> None:
    toc = [{"file": "notebooks/00_start_here.ipynb"}]
    toc += [{"file": "notebooks/03_a.ipynb", "title": "03 A"}, {"file": "book/glossary.md"}]
    about = {"00": facts.Facts(9, 1), "03": facts.Facts(20, 2, core=44)}
    shown = front.path(about, toc)
    assert shown.count("<li>") == 1
    assert '<a href="notebooks/03_a.html">03 A</a>' in shown
    assert "Why √d<sub>k</sub>" in shown
    assert "core path 44 min" in shown
    with pytest.raises(ValueError, match="must hold a question of chapter 99"):
        front.path({"99": facts.Facts(1, 1)}, [{"file": "notebooks/99_x.ipynb"}])


def test_the_way_to_teach_comes_first_in_the_instructor_s_edition() -> None:
    about = {"00": facts.Facts(9)}
    first = {e: re.findall('href="([^"]+)"', front.begin(about, e))[0] for e in SITES}
    assert first == {
        "learner": "notebooks/00_start_here.html", "instructor": "instructor/teach.html",
    }  # fmt: skip
    assert all(front.begin(about, edition).count("front-go") == 1 for edition in SITES)


def test_every_chapter_has_a_question_and_no_other() -> None:
    questions = yaml.safe_load((ROOT / "book" / "questions.yml").read_text(encoding="utf-8"))
    chapters = {path.name[:2] for path in (ROOT / "notebooks").glob("*.ipynb")} - {"00"}
    assert set(questions) == chapters


def test_the_numbers_are_counted() -> None:
    named, versions = mistakes.counts(all_exercises())
    shown = front.numbers({})
    assert f'data-count="mistakes">{named:,}<' in shown
    assert f"{versions:,} wrong answers" in shown
    assert 'data-count="claims">0<' in shown


def test_files_of_other_addresses_are_counted_and_written_onto_the_page(tmp_path: Path) -> None:
    own = '<script src="_static/a.js"></script><a href="https://example.org">b</a>'
    others = (
        '<script async src="https://example.org/a.js"></script><img alt="" src="//example.org/b">'
        '<link href="https://example.org/c.css" rel="stylesheet"><link rel="canonical" href="https://x">'
    )
    assert (front.loads(own), front.loads(others)) == (0, 3)
    (tmp_path / "index.html").write_text(front.numbers({}), encoding="utf-8")
    (tmp_path / "b.html").write_text(others, encoding="utf-8")
    for _ in range(2):
        front.settle(tmp_path)
        text = (tmp_path / "index.html").read_text(encoding="utf-8")
        assert 'data-count="requests">3<' in text


@pytest.mark.browser
def test_the_front_page_asks_nobody_and_shows_one_verdict_at_a_time(
    visit: Callable[..., Visit], address: str
) -> None:
    seen = visit(f"{address}/index.html")
    expect(seen.page.locator('[data-count="requests"]')).to_have_text("0")
    buttons = seen.page.locator(".front-choice button")
    expect(seen.page.locator(".front-card")).to_have_count(1)
    before = seen.page.locator(".front-card").inner_text()
    buttons.nth(2).press("Enter")
    expect(buttons.nth(2)).to_have_attribute("aria-pressed", "true")
    expect(seen.page.locator(".front-card")).not_to_have_text(before, use_inner_text=True)
    assert (seen.outside, seen.errors) == ([], [])
