"""Each rule of a chapter's source, broken once."""

import pytest

from tests.tools.small_course import Course

HEAD = "# %% [markdown]\n# # Title\n\n"
EXERCISE = """# %% exercise="twice"
def twice(x, by=2):
    ### BEGIN SOLUTION: double it
    return by * x
    ### END SOLUTION

"""
CHECK = '# %%\ncheck("twice", twice)\n'
BUSY = "# %%\n" + "\n".join(f"x{i} = {i}" for i in range(31)) + "\n"
IGNORED = '# %% tags=["nbval-ignore-output"] reason="time"\nprint(1)\n\n'

BROKEN = {
    "unclosed region": (EXERCISE.replace("    ### END SOLUTION\n", ""), 6, "not closed"),
    "region outside a function": (
        "# %%\n### BEGIN SOLUTION: a\nx = 1\n### END SOLUTION\n",
        5,
        "inside a function",
    ),
    "region outside an exercise": (
        EXERCISE.replace(' exercise="twice"', ""),
        6,
        "in an exercise's cell",
    ),
    "mark in prose": ("# %% [markdown]\n# ### BEGIN SOLUTION: a\n", 5, "in a code cell"),
    "no region": ('# %% exercise="twice"\ndef twice(x, by=2): ...\n', 5, "no region"),
    "unknown exercise": (EXERCISE.replace("twice", "thrice"), 5, "near: twice"),
    "asked twice": (EXERCISE + CHECK + "\n" + EXERCISE + CHECK, 14, "already asked in line 5"),
    "missing definition": (EXERCISE.replace("def twice", "def double"), 5, "define a function"),
    "other default": (EXERCISE.replace("by=2", "by=3"), 5, "take (x, by=2), as its exercise"),
    "other name": (EXERCISE.replace("x,", "y,"), 5, "got (y, by=2)"),
    "fewer parameters": (EXERCISE.replace(", by=2", ""), 5, "got (x)"),
    "keyword-only": (EXERCISE.replace("by=2", "*, by=2"), 5, "got (x, *, by=2)"),
    "no line for the data": (EXERCISE + CHECK, 5, "must hold the line *Difficulty"),
    "no check": (EXERCISE, 5, "the next cell must be"),
    "another's check": (EXERCISE + CHECK.replace("twice)", "other)"), 5, "the next cell must be"),
    "invalid Python": ("# %%\nx = 1\ny = = 2\n", 6, "not valid Python"),
    "magic": ("# %%\n%matplotlib inline\n", 5, "not valid Python"),
    "long code": (BUSY, 5, "30 lines a cell, got 31"),
    "long prose": ("# %% [markdown]\n# " + "word " * 121 + "\n", 5, "120 words a cell, got 121"),
    "open quote": ('# %% [markdown]\n"""\ntext\n\n# %%\nx = 1\n', 4, "a quote in it"),
    "empty cell": ("# %%\n\n# %% [markdown]\n# text\n", 6, "the cell is empty"),
    "closing semicolon": ("# %%\nx = [1]\nx;\n", 6, "assign the value to `_`"),
    "no reason": ('# %% tags=["nbval-ignore-output"]\nprint(1)\n', 5, "needs its reason"),
    "ignored by a comment": ("# %%\n# NBVAL_IGNORE_OUTPUT\nprint(1)\n", 5, "not a comment"),
    "skipped": ('# %% tags=["nbval-skip"]\nprint(1)\n', 5, '"nbval-skip" is not used'),
    "too many ignored": (2 * IGNORED + 5 * "# %%\nprint(2)\n\n", 8, "at most 1 of 7 code cells"),
    "code before the first cell": ("", 1, "only the file's header"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_rule_is_named_with_file_and_line_and_nothing_is_written(
    course: Course, name: str
) -> None:
    text, line, says = BROKEN[name]
    course.write(HEAD + text if text else "import os\n\n" + HEAD)
    for arguments in ([], ["--check"]):
        result = course.build(*arguments)
        told = [said for said in result.err.splitlines() if says in said]
        assert result.status == 1
        assert told, result.err
        assert told[0].startswith(f"solutions/03_small.py:{line}: "), told
    assert not list(course.root.rglob("*.ipynb"))


def test_an_exercise_belongs_to_one_chapter(course: Course) -> None:
    course.write(EXERCISE + CHECK)
    course.write(EXERCISE + CHECK, "04_other")
    assert 'solutions/04_other.py:2: the exercise "twice" is already asked in solutions/03' in (
        course.build().err
    )


def test_formulas_code_and_tags_are_no_prose(course: Course) -> None:
    course.write(
        "# %% [markdown]\n# $$" + " a" * 99 + " $$\n# ```\n# " + "b " * 99 + "\n# ```\n"
        "# <details><summary>q</summary></details>\n# " + "word " * 119 + "\n"
    )
    assert course.build().status == 0
