"""Minutes of sections and of the core path: counted from the source, shown, and kept to a limit."""

import math
from pathlib import Path

import pytest

from course_utils.environment import ROOT
from tests.tools.small_course import Course
from tools.build_notebooks import exercise_data
from tools.notebooks.files import find_sources
from tools.notebooks.minutes import first_seen, reading
from tools.notebooks.source import read_chapter, with_data

FRONT = "# %% [markdown]\n# # Title\n#\n# *Core path · further*\n\n"
EXERCISE = """# %% [markdown]
# *Difficulty · importance · minutes*

# %% exercise="twice"
def twice(x, by=2):
    ### BEGIN SOLUTION: double it
    return by * x
    ### END SOLUTION

# %%
check = "{}: Passed".format
check("twice", twice)

"""


def section(title: str, words: int = 0, tags: str = "") -> str:
    text = f"\n# {'word ' * words}" if words else ""
    return f"# %% [markdown]{tags}\n# ## {title}\n#{text}\n\n"


TAG = ' tags=["further"]'


def test_reading_counts_words_lines_and_questions() -> None:
    assert reading("word " * 150) == 1
    assert reading("", "x = 1\n\n" * 12) == 1
    assert reading("**Predict.** What?\n\n**Check yourself.** Why?") == pytest.approx(4 + 5 / 150)
    assert reading("<details> [here](a/long/address.html) <!-- a note -->") == 1 / 150


def test_sections_and_the_front_show_their_minutes(course: Course) -> None:
    course.write(
        FRONT + section("1. Read", 110) + section("2. Do") + EXERCISE
        + section("3. More", 119, TAG) + section("Yours: again") + section("Recap")
    )  # fmt: skip
    assert course.build().err == ""
    for kind in ("notebooks", "solutions"):
        told = [cell.source for cell in course.cells(kind) if cell.cell_type == "markdown"]
        assert told[0].endswith(
            "*Core path* 2 sections: 13 minutes, 10 of them for exercises. "
            "*Further* 1 section: 1 minute."
        )
        heads = [text.split("\n\n")[:2] for text in told if text.startswith("## ")]
        assert [head[1:] for head in heads] == [
            ["*1 minute*"], ["*11 minutes*"], ["*further · 1 minute*"], ["*1 minute*"], [],
        ]  # fmt: skip
    assert course.build("--check").status == 0


def test_further_sections_are_folded_for_the_learner_alone(course: Course) -> None:
    course.write(FRONT + section("1. Read") + section("2. More", tags=TAG))
    course.build()
    for kind, folded in (("notebooks", [2]), ("solutions", [])):
        cells = course.cells(kind)
        marked = [i for i, c in enumerate(cells) if c.metadata.get("jp-MarkdownHeadingCollapsed")]
        assert marked == folded


def test_a_chapter_without_tags_has_its_front_as_it_was(course: Course) -> None:
    course.write("# %% [markdown]\n# # Title\n\n" + section("Run a cell") + EXERCISE)
    course.build()
    assert [cell.source for cell in course.cells("notebooks")[:2]] == ["# Title", "## Run a cell"]


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        (FRONT + FRONT, 9, "must stand there once, got 2"),
        (section("1. More", tags=TAG), 2, "needs the line *Core path"),
        (FRONT + f"# %% [markdown]{TAG}\n# ### Part\n", 7, "that begins with `## `"),
        (FRONT + f"# %%{TAG}\nx = 1\n", 7, "that begins with `## `"),
        (FRONT + "".join(section(f"{n}. Read") for n in range(11)), 4, "10 sections, got 11"),
        (FRONT + section("1. Do") + 7 * EXERCISE, 4, "60 minutes of exercises, got 70"),
        (FRONT + section("1. Read", 150 * 121), 4, "120 minutes in all, got 121"),
    ],
)
def test_the_core_path_keeps_its_rules(course: Course, text: str, line: int, says: str) -> None:
    course.write(text)
    (told,) = [said for said in course.build("--check").err.splitlines() if says in said]
    assert told.startswith(f"solutions/03_small.py:{line}: ")


def test_what_is_further_does_not_count(course: Course) -> None:
    course.write(FRONT + section("1. Do", 150 * 121, TAG) + 7 * EXERCISE)
    assert "the core path must" not in course.build("--check").err


def test_minutes_before_a_picture_and_a_widget_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "01_new.py"
    text = section("1. Read", 298) + '# %%\ndiagram("01")\n\n' + section("2. On", 147 - 6)
    path.write_text(text, encoding="utf-8")
    picture, widget = first_seen(read_chapter(path))
    assert (picture, widget) == (pytest.approx(2), math.inf)
    cell = "# %%\nfrom course_utils.widgets import rope_clock\n\nshown = rope_clock()\nshown\n"
    path.write_text(text + cell, encoding="utf-8")
    assert first_seen(read_chapter(path)) == pytest.approx((2, 3 + 1 / 12 - 3 / 75), abs=0.05)
    path.write_text(cell + text, encoding="utf-8")
    assert first_seen(read_chapter(path)) == (0, 0)


@pytest.mark.parametrize("source", find_sources(ROOT)[1:], ids=lambda path: path.stem)
def test_a_chapter_shows_a_picture_in_two_minutes_and_a_widget_in_ten(source: Path) -> None:
    picture, widget = first_seen(with_data(read_chapter(source), exercise_data))
    assert picture <= 2
    assert widget <= 10
