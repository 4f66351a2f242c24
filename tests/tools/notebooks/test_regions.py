"""Test what a region becomes, and every way of writing one wrongly."""

import textwrap

import pytest

from tools.notebooks.regions import find_regions
from tools.notebooks.source import Cell


def cell(text: str) -> Cell:
    source = textwrap.dedent(text).strip("\n")
    regions, faults = find_regions(source)
    assert faults == []
    return Cell("code", source, {}, line=10, regions=tuple(regions))


TWO_METHODS = cell("""
    class Pair:
        def first(self, x):
            doubled = 2 * x
            if doubled:
                ### BEGIN SOLUTION: return what was doubled
                result = doubled
                return result
                ### END SOLUTION
            return None

        def second(self):
            ### BEGIN SOLUTION: d_k is the width
            return 2
            ### END SOLUTION
    """)


def test_every_region_becomes_its_task_and_a_raise_at_its_own_indent() -> None:
    stubbed = TWO_METHODS.stubbed()
    assert stubbed == textwrap.dedent("""
        class Pair:
            def first(self, x):
                doubled = 2 * x
                if doubled:
                    # Return what was doubled
                    raise NotImplementedError
                return None

            def second(self):
                # d_k is the width
                raise NotImplementedError
        """).strip("\n")
    compile(stubbed, "cell", "exec")


def test_a_solution_is_all_but_the_marks() -> None:
    solved = TWO_METHODS.solved().split("\n")
    assert "SOLUTION" not in TWO_METHODS.solved()
    assert len(solved) == TWO_METHODS.source.count("\n") + 1 - 4
    assert "            result = doubled" in solved


@pytest.mark.parametrize(
    ("source", "line", "says"),
    [
        ("### BEGIN SOLUTION: a\nx = 1", 0, "not closed"),
        ("### BEGIN SOLUTION: a\n### BEGIN SOLUTION: b\nx = 1\n### END SOLUTION", 1, "inside"),
        ("x = 1\n### END SOLUTION", 1, "without a BEGIN"),
        ("### BEGIN SOLUTION\nx = 1\n### END SOLUTION", 0, "what is to be done"),
        ("### BEGIN SOLUTION:  \nx = 1\n### END SOLUTION", 0, "what is to be done"),
        ("### BEGIN SOLUTION: a\n\n# only words\n### END SOLUTION", 0, "empty"),
        ("### BEGIN SOLUTION: a\n\tx = 1\n### END SOLUTION", 1, "tabs"),
        ("### BEGIN SOLUTION: a\n    x = 1\n### END SOLUTION", 0, "got BEGIN at 0, code at 4"),
        ("  ### BEGIN SOLUTION: a\n  x = 1\n### END SOLUTION", 0, "END at 0"),
        ("# BEGIN SOLUTION\nx = 1\n### END SOLUTION", 0, "a mark must read"),
        ("# BEGIN SOLUTION\nx = 1\n# END SOLUTION", 2, "a mark must read"),
    ],
)
def test_a_malformed_region_is_named_with_its_line(source: str, line: int, says: str) -> None:
    _, faults = find_regions(source)
    assert any(index == line and says in text for index, text in faults), faults


def test_marks_are_those_that_nbgrader_finds() -> None:
    # nbgrader 0.9.6, preprocessors/clearsolutions.py: the delimiter anywhere in the line.
    lines = TWO_METHODS.source.split("\n")
    assert ["BEGIN SOLUTION" in line for line in lines].count(True) == 2
    assert ["END SOLUTION" in line for line in lines].count(True) == 2
