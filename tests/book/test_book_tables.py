"""The parts of pages that are made of data: claims, mistakes, times and plans."""

import json
import re
from pathlib import Path

import nbformat
import pytest

from book import blocks, claims, facts, instructor, mistakes, pages
from course_utils.claims import ledger
from course_utils.exercises import all_exercises
from course_utils.measure import read_record
from tests.book.book_support import ROOT

ORDER = ["wrong", "corrected", "by machine", "no evidence"]


def test_plain_text_becomes_html_with_code_and_formulas() -> None:
    assert blocks.code_words("a < b, `x & y` and\n  ` alone") == (
        "a &lt; b, <code>x &amp; y</code> and ` alone"
    )
    assert blocks.formulas("O(n^2*d_k), s_{t-1}, d^-0.5") == (
        "O(n<sup>2</sup>*d<sub>k</sub>), s<sub>t-1</sub>, d<sup>-0.5</sup>"
    )
    assert blocks.formulas("need_weights, masked_fill_") == "need_weights, masked_fill_"


def test_block_has_no_blank_line_that_would_end_it() -> None:
    assert blocks.block("<p>", "", " a\n\n b", "</p>") == "<p>\n a\n b\n</p>"


def test_claims_are_whole_and_speak_for_themselves() -> None:
    loaded = ledger()
    names = [claim["id"] for claim in loaded]
    assert len(set(names)) == len(names)
    for claim in loaded:
        assert claim["id"].startswith(f"{claim['chapter']}-")
        assert claim["verdict"] in claims.VERDICTS
        assert claim["how"] in {"run", "computed", "looked up", "read", "remembered"}
        assert claim["claim"]
        assert claim["correct"]


def listed_texts() -> list[str]:
    page = (ROOT / "book" / "measured.md").read_text(encoding="utf-8")
    return re.findall(r"(?m)^\| ([A-Z]) \|", page)


def test_every_claim_names_texts_that_are_listed() -> None:
    assert listed_texts() == sorted({letter for claim in ledger() for letter in claim["text"]})
    assert all(claim["text"] == "".join(sorted(set(claim["text"]))) != "" for claim in ledger())


@pytest.mark.parametrize("path", sorted((ROOT / "solutions").glob("*.py")), ids=lambda p: p.stem)
def test_texts_that_a_chapter_names_are_listed_and_it_says_where(path: Path) -> None:
    prose = path.read_text(encoding="utf-8")
    named = re.findall(r"\b[Tt]exts? ((?:[A-Z]\b(?:, | and | or )?)+)", prose)
    letters = set(re.findall(r"[A-Z]", " ".join(named)))
    assert letters <= set(listed_texts())
    assert not letters or "*What is measured here*" in prose


@pytest.mark.parametrize("number", sorted({claim["chapter"] for claim in ledger()}))
def test_every_claim_names_sections_that_the_chapter_has(number: str) -> None:
    known = set(claims.sections(number))
    own = [claim for claim in ledger() if claim["chapter"] == number]
    assert {claim["id"]: set(claim["sections"]) - known for claim in own} == {
        claim["id"]: set() for claim in own
    }
    assert all(claim["sections"] for claim in own)


def test_page_of_claims_links_to_the_sections() -> None:
    page = claims.markdown({"03": "03 Scaled dot-product attention"})
    assert '<a href="notebooks/03_scaled_dot_product.html#what-it-costs">section 12</a>' in page


def test_page_of_claims_tells_the_wrong_ones_first_and_folds_what_holds() -> None:
    page = claims.markdown({"03": "03 Scaled dot-product attention"})
    own = [claim for claim in ledger() if claim["chapter"] == "03"]
    held = [claim for claim in own if claim["verdict"] == "confirmed"]
    assert page.startswith(f"{len(own)} claims: ")
    assert f"{len(held)} hold." in page
    assert f"<summary>{len(held)} that hold</summary>" in page
    verdicts = re.findall(r"</th><td>(wrong|corrected|by machine|no evidence)</td>", page)
    assert verdicts == sorted(verdicts, key=ORDER.index)
    assert "## 04" not in page


def test_page_of_claims_is_drawn_from_what_was_found_now(monkeypatch: pytest.MonkeyPatch) -> None:
    """A verdict or a figure that stands in the ledger alone changes nothing on the page."""
    page = claims.markdown({"03": "03 Scaled dot-product attention"})
    assert "Found now: 67,108,864: 67.1 MFLOP, 68.7 with 6mn." in page
    assert "computed (<code>arithmetic</code>)" in page
    assert "looked up; Raffel et al. (2020)" in page
    stored = [claim | {"verdict": "confirmed"} for claim in ledger()]
    monkeypatch.setattr(claims, "ledger", lambda: stored)
    run = [claim for claim in stored if claim["chapter"] == "03" and "check" in claim]
    wrong = [claim for claim in run if claims.recomputed(claim)["verdict"] == "wrong"]
    again = claims.markdown({"03": "03 Scaled dot-product attention"})
    assert again.count("<td>wrong</td>") == len(wrong) > 2


def test_page_of_mistakes_lists_them_all_and_shows_the_wrong_lines_to_instructors_alone() -> None:
    own = [exercise for exercise in all_exercises() if exercise.chapter == 3]
    count = sum(len(exercise.mistakes) for exercise in own)
    page = mistakes.markdown({"03": "03 Attention"}, "learner")
    assert page.startswith(f"{len(own)} exercises, {count} mistakes in ")
    assert page.count("<tr>") == count + len(own)
    assert "<pre" not in page
    assert "default = 1.0</pre>" in mistakes.markdown({"03": "03 Attention"}, "instructor")


def test_reading_is_counted_in_words_of_text_and_lines_of_code() -> None:
    prose = nbformat.v4.new_markdown_cell("word " * 300 + "[two words](an/address) <b>one</b>")
    code = nbformat.v4.new_code_cell("x = 1\n\n" * 24)
    exercise = nbformat.v4.new_code_cell("", metadata={"exercise": "stable_softmax"})
    notebook = nbformat.v4.new_notebook(cells=[prose, code, exercise])
    told = facts.of_notebook(notebook, "99_new")
    assert (told.read, told.exercises, told.run) == (4, 1, None)
    assert facts.of_text("---\na: b\n---\n# One\n").read == 1


def test_line_below_the_title_leaves_out_what_is_not_known() -> None:
    line = facts.told(facts.Facts(read=4))
    assert line == '<p class="page-facts">4 min to read</p>'
    chapter = facts.Facts(read=4, exercises=1, do=9, run=3, core=10, further=3)
    line = facts.told(chapter, "03.ipynb")
    assert ">core path 10 min · further 3 min · 1 exercise · runs in 3 s<" in line
    assert '<a href="03.ipynb" download>' in line
    assert facts.below_title("---\na: b\n---\n\n# T\ntext", "L").endswith("# T\n\nL\n\ntext")
    with pytest.raises(ValueError, match="must begin with a title"):
        facts.below_title("no title", "L")


def test_running_was_measured_for_every_chapter_and_keeps_the_budget() -> None:
    measured = json.loads(facts.RUNNING.read_text(encoding="utf-8"))
    assert set(measured) == {path.stem for path in (ROOT / "solutions").glob("*.ipynb")}
    over = [
        name
        for name, seconds in measured.items()
        if seconds > (90 if name[:2] in {"01", "07", "19", "20"} else 60)
    ]
    assert not over


def test_weeks_keep_the_order_and_are_as_even_as_can_be() -> None:
    parts = [(name, minutes) for name, minutes in zip("abcdef", (9, 1, 5, 5, 2, 8), strict=True)]
    weeks = instructor.spread(parts, 3)
    assert [part for week in weeks for part in week] == parts
    assert [sum(minutes for _, minutes in week) for week in weeks] == [10, 10, 10]
    assert instructor.spread(parts, 9) == [[part] for part in parts]


def test_pacing_sums_its_columns() -> None:
    about = {"01": facts.Facts(30, 2, 20, 40, 5), "02": facts.Facts(50, 1, 30, None, 3)}
    table = instructor.pacing(about, {"01": "One", "02": "Two"})
    last = re.findall(r"<td>(.*?)</td>", table.split('<th scope="row">All</th>')[1])
    assert last == ["80 min", "40 s", "3", "50 min", "8", "", "130 min"]


def test_pitfalls_hold_every_mistake_of_the_chapter() -> None:
    page = instructor.pitfalls({"03": "03 Attention"})
    own = [e for e in all_exercises() if e.chapter == 3]
    assert page.count("<dt>") == sum(len(e.mistakes) for e in own)
    assert "default = 1.0" in page
    assert all(f"<code>{e.name}</code>: {len(e.mistakes)} mistakes" in page for e in own)


def test_a_table_that_nobody_makes_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "a.md").write_text("# A\n\n<!-- table: lost -->\n", encoding="utf-8")
    monkeypatch.setattr(pages, "ROOT", tmp_path)
    with pytest.raises(ValueError, match=r"^a\.md: nobody makes a table 'lost'$"):
        pages._page("a.md", "learner", {}, {})


def test_the_course_says_how_long_it_takes_with_and_without_what_is_further() -> None:
    about = {
        "00": facts.Facts(read=5),
        "01": facts.Facts(read=60, exercises=4, do=60, core=60, further=60),
        "02": facts.Facts(read=120, exercises=5, do=120, core=120, further=120),
    }
    assert facts.length(about) == (
        "The core paths of the 2 chapters take about 3 hours, the chapters with all that is "
        "further about 6; 3 of these hours are for their 9 exercises."
    )


def test_a_chapters_minutes_are_the_sum_of_what_its_sections_say() -> None:
    texts = ("## 1. One\n\n*8 minutes*\n\nx", "## 2. Two\n\n*further · 9 minutes*", "*7 minutes*")
    cells = [nbformat.v4.new_markdown_cell(text) for text in texts]
    told = facts.of_notebook(nbformat.v4.new_notebook(cells=cells), "99_new")
    assert (told.core, told.further, told.read) == (8, 9, 17)


@pytest.mark.parametrize("path", sorted((ROOT / "notebooks").glob("*.ipynb")), ids=lambda p: p.stem)
def test_page_and_notebook_of_a_chapter_say_the_same_minutes(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    told = facts.of_notebook(notebook, path.stem)
    text = "\n".join(cell.source for cell in notebook.cells)
    front = re.findall(r"(?:Core path|Further)\* \d+ sections?: (\d+) minute", text)
    assert [number for number in (told.core, told.further) if number] == list(map(int, front))


def test_costs_of_a_hub_and_of_grading_are_those_of_their_records() -> None:
    for name, made in (("hub", instructor.hub_costs()), ("grading", instructor.grading_rates())):
        record = read_record(name)
        assert made.count("<tr>") == len(record["runs"]) + 1
        assert record["date"] in made
        for run in record["runs"]:
            assert f">{run.get('what') or run['way']}</th>" in made
    classes = read_record("hub")["classes"]
    assert instructor.hub_classes().count("<tr>") == len(classes) + 1
    assert len(classes) >= 5
    assert all((one["wrong"], one["lost"]) == (0, 0) for one in classes)
    assert {one["finished"] for one in classes} == {30}
    assert record["settings"]["same_points"]
    assert record["settings"]["hostile_that_gained"] == record["settings"]["files_harmed"] == 0
    assert record["settings"]["kinds_of_hostile"] <= record["settings"]["hostile"]
