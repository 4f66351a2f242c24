"""The laws, over every chapter there is; and for each law, that it sees what breaks it."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from tests.notebooks.laws import leaks, solution_lines, unchecked, undescribed_figures

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted((ROOT / "solutions").glob("[0-9][0-9]_*.py"))

chapters = pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)


def read(kind: str, source: Path) -> dict[str, Any]:
    return json.loads((ROOT / kind / f"{source.stem}.ipynb").read_text(encoding="utf-8"))


@chapters
def test_no_line_of_a_solution_is_in_the_learners_notebook(source: Path) -> None:
    assert leaks(source.read_text(encoding="utf-8"), read("notebooks", source)) == []


@chapters
def test_every_exercise_is_followed_by_its_check(source: Path) -> None:
    assert unchecked(read("notebooks", source)) == []


@chapters
def test_every_exercise_of_the_chapter_is_asked_in_it(source: Path) -> None:
    from course_utils.exercises import all_exercises

    cells = read("notebooks", source)["cells"]
    asked = [cell["metadata"]["exercise"] for cell in cells if "exercise" in cell["metadata"]]
    meant = [item.name for item in all_exercises() if str(item.chapter).zfill(2) == source.name[:2]]
    assert sorted(asked) == sorted(meant)


@chapters
def test_every_figure_has_a_text_alternative(source: Path) -> None:
    assert list(undescribed_figures(read("solutions", source))) == []


SOURCE = """# %% exercise="twice"
def twice(x):
    ### BEGIN SOLUTION: double x
    doubled = 2 * x
    return doubled
    ### END SOLUTION

# %%
check("twice", twice)

# %% tags=["solution"]
print(twice(21))

# %%
    return doubled
"""
LEARNER = {
    "cells": [
        {"source": ["def twice(x):\n", "    raise\n"], "metadata": {"exercise": "twice"}},
        {"source": ['check("twice", twice)'], "metadata": {}},
    ]
}


def test_lines_that_stand_elsewhere_too_are_no_secret() -> None:
    assert solution_lines(SOURCE) == {"doubled = 2 * x", "print(twice(21))"}


def test_a_leak_is_seen() -> None:
    assert leaks(SOURCE, LEARNER) == []
    for line in ("  doubled = 2 * x\n", "print(twice(21))"):
        leaky = copy.deepcopy(LEARNER)
        leaky["cells"][1]["source"].append(line)
        assert leaks(SOURCE, leaky) == [line.strip()]


def test_a_missing_check_is_seen() -> None:
    assert unchecked(LEARNER) == []
    assert unchecked({"cells": LEARNER["cells"][:1]}) == ["twice"]


def test_a_figure_without_words_is_seen() -> None:
    picture = {"data": {"image/png": "iVBO"}}
    cell = {"source": ["fig, ax\n"], "outputs": [picture], "metadata": {}}
    assert list(undescribed_figures({"cells": [cell]})) == ["fig, ax"]
    cell["metadata"] = {"mystnb": {"image": {"alt": "a line that rises"}}}
    assert list(undescribed_figures({"cells": [cell]})) == []
