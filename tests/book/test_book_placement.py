"""The placement asks one question for each chapter and says where to start."""

import re
from pathlib import Path
from typing import Any

import nbformat
import pytest
import yaml
from playwright.sync_api import BrowserContext, Locator, Page, expect

from book import placement
from book.facts import Facts
from tests.book.book_axe import AXE, RUN_AXE
from tests.book.book_support import ROOT

QUESTIONS = placement.questions()
CHAPTERS = [path for path in sorted((ROOT / "notebooks").glob("*.ipynb")) if path.name[:2] != "00"]
ELSEWHERE = re.compile(r"(?<![\w$*`])[B-E](?![\w$*`])")  # a letter that would not be renamed


def test_each_chapter_has_one_question() -> None:
    assert list(QUESTIONS) == [path.name[:2] for path in CHAPTERS]


@pytest.mark.parametrize("number", QUESTIONS)
def test_a_question_has_three_or_four_options_each_with_its_reason(number: str) -> None:
    one = QUESTIONS[number]
    letters = re.findall(r"(?m)^- ([A-E])\. ", one.options)
    assert letters == list("ABCDE")[: len(letters)]
    assert len(letters) in (3, 4)
    assert re.findall(r"(?m)^- (?:\*\*)?([A-E])\b", one.reasons) == letters
    assert one.right in letters
    bodies = re.sub(r"(?m)^- (?:\*\*)?[A-E]\b|\breason as [A-E]\b", "", one.reasons)
    assert ELSEWHERE.findall(bodies) == []


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.name[:2])
def test_what_answers_it_is_on_the_chapter_s_core_path(path: Path) -> None:
    section = QUESTIONS[path.name[:2]].section
    cells = nbformat.read(path, as_version=4).cells
    (heading,) = (cell for cell in cells if re.search(rf"(?m)^## {section}\. ", cell.source))
    assert "further" not in heading.metadata.get("tags", [])


def test_no_letter_is_right_for_more_than_half() -> None:
    right = [one.right for one in QUESTIONS.values()]
    assert max(right.count(letter) for letter in "ABC") <= len(right) / 2


def test_options_move_with_their_reasons() -> None:
    asked = placement.Question(
        1, "", "?", "- A. x\n- B. y\n- C. z",
        "- A is wrong.\n- **B is right.**\n- C is wrong for the same reason as A.",
    )  # fmt: skip
    turned = asked.turned(1)
    assert turned.options == "- A. z\n- B. x\n- C. y"
    assert turned.reasons.splitlines() == [
        "- A is wrong for the same reason as B.", "- B is wrong.", "- **C is right.**",
    ]  # fmt: skip
    assert (asked.right, turned.right, asked.turned(3)) == ("B", "C", asked)


def given(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, question: dict[str, Any]) -> None:
    monkeypatch.setattr(placement, "__file__", str(tmp_path / "placement.py"))
    text = yaml.safe_dump({"03": question})
    (tmp_path / "placement.yml").write_text(text, encoding="utf-8")


@pytest.mark.parametrize(
    ("question", "says"),
    [
        ({"section": "gone"}, "chapter 03 must have a section 'gone'"),
        ({"section": "a-dictionary-in-numbers"}, "must have a (section|question with options)"),
        (
            {"section": "how-large-is-a-dot-product", "asks": "?", "options": ["x", "y"],
             "reasons": ["A is wrong.", "B is wrong."]},
            "one option must be right, got ",
        ),
    ],
)  # fmt: skip
def test_a_question_that_cannot_be_asked_stops_the_build(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, question: dict[str, Any], says: str
) -> None:
    given(monkeypatch, tmp_path, question)
    with pytest.raises(ValueError, match=says):
        placement.markdown({"03": Facts(1)}, {"03": "A"})


def test_chapters_that_a_site_lacks_are_not_asked_about() -> None:
    shown = placement.markdown({"03": Facts(1, core=44)}, {"03": "03 A"})
    assert re.findall(r"(?m)^## (.*)$", shown) == ["03 A"]
    assert 'data-chapter="03_scaled_dot_product"' in shown
    assert 'data-core="44"' in shown


# In the browser.


def options(page: Page) -> Locator:
    return page.locator(".placement-options:visible button")


def answer(page: Page, number: str, right: bool = True) -> None:
    """Answer the question that is shown, which must be that of the chapter."""
    wanted = QUESTIONS[number].right
    page.locator(".placement-count").wait_for()
    expect(page.locator(".placement:visible")).to_have_attribute("data-chapter", re.compile(number))
    letter = wanted if right else next(one for one in "ABC" if one != wanted)
    options(page).filter(has_text=re.compile(rf"^{letter}\. ")).click()
    expect(page.locator(".placement-said:visible")).to_contain_text("Right." if right else wanted)
    expect(page.locator(".placement:visible details")).to_have_attribute("open", "")
    page.get_by_role("button", name="Next").click()


@pytest.mark.browser
def test_it_stops_after_two_chapters_and_the_front_page_knows(
    own: BrowserContext, address: str
) -> None:
    page = own.new_page()
    page.goto(f"{address}/index.html")
    page.locator(".front-begin").get_by_role("link", name="Where should I start?").click()
    answer(page, "01")
    answer(page, "02", right=False)
    answer(page, "03")
    options(page).filter(has_text="I do not know").click()
    page.get_by_role("button", name="Next").click()
    result = page.locator(".placement-result")
    expect(result.get_by_role("heading")).to_contain_text("Start with 02 Additive")
    expect(result.get_by_role("heading")).to_be_focused()
    expect(result).to_contain_text(re.compile(r"core path takes \d+ minutes"))
    expect(result.get_by_role("listitem")).to_contain_text(["01 The bottleneck", "03 Scaled"])
    page.evaluate(AXE.read_text(encoding="utf-8"))
    assert page.evaluate(RUN_AXE, {}) == []
    page.goto(f"{address}/index.html")
    expect(page.locator(".front-begin")).to_contain_text("start with chapter 02")
    expect(page.locator(".front-path li").first).to_contain_text("known")
    expect(page.locator("nav.bd-links a", has_text="03 Scaled")).to_contain_text("known")
    expect(page.locator("nav.bd-links a", has_text="04 Queries")).not_to_contain_text("known")


@pytest.mark.browser
def test_all_questions_with_the_keyboard_from_a_folder(own: BrowserContext, site: Path) -> None:
    page, errors = own.new_page(), []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(f"{site.as_uri()}/placement.html")
    for place, number in enumerate(QUESTIONS):
        expect(page.locator(".placement:visible")).to_contain_text(re.compile("A. "))
        at = "ABCD".index(QUESTIONS[number].right)
        options(page).nth(at).focus()
        page.keyboard.press("Space")
        expect(page.get_by_role("button", name="Next")).to_be_focused()
        if place == 2:  # as it is after an answer
            page.evaluate(AXE.read_text(encoding="utf-8"))
            assert page.evaluate(RUN_AXE, {}) == []
        page.keyboard.press("Enter")
    expect(page.locator(".placement-result")).to_contain_text("You answered all of them")
    page.reload()
    expect(page.locator(".placement-result")).to_contain_text("You answered all of them")
    page.get_by_role("button", name="Begin again").click()
    expect(page.locator(".placement-count")).to_have_text("Question 1 of 20")
    assert errors == []


@pytest.mark.browser
def test_one_can_go_on_and_come_back(own: BrowserContext, address: str) -> None:
    page = own.new_page()
    page.goto(f"{address}/placement.html")
    answer(page, "01", right=False)
    page.reload()
    expect(page.locator(".placement-count")).to_contain_text("Question 2 of")
    answer(page, "02", right=False)
    page.get_by_role("button", name="Go on: 18 questions left").click()
    for number in list(QUESTIONS)[2:]:
        answer(page, number, right=number != "05")
    expect(page.locator(".placement-result")).to_contain_text("Start with 01 The bottleneck")
    expect(page.locator(".placement-result li")).to_have_count(17)


@pytest.mark.browser
def test_a_browser_that_keeps_nothing_is_told_all_the_same(
    own: BrowserContext, address: str
) -> None:
    own.add_init_script("Object.defineProperty(window, 'localStorage', { get() { throw 1 } })")
    page = own.new_page()
    page.goto(f"{address}/placement.html")
    for number in ("01", "02"):
        answer(page, number, right=False)
    expect(page.locator(".placement-result")).to_contain_text("Start with 01 The bottleneck")


@pytest.mark.browser
def test_without_javascript_it_is_a_list_with_folded_answers(browser: Any, site: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{site.as_uri()}/placement.html")
    boxes = page.locator(".placement")
    expect(boxes).to_have_count(len(QUESTIONS))
    expect(boxes.last.locator("> ul")).to_be_visible()
    expect(boxes.last.locator("details")).not_to_have_attribute("open", "")
    boxes.last.locator("summary").click()
    expect(boxes.last.get_by_role("link")).to_be_visible()
    context.close()
