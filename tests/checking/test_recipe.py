"""Lines in place of the right ones: what replaces what, and what is said where nothing fits."""

import pytest

from course_utils.checking.mistakes import mistake, only, saying, without
from course_utils.checking.recipe import Recipe, RecipeError

RIGHT = """
def total(numbers, start=0):
    first = start
    out = first
    for number in numbers:
        step = number * UNIT
        out += step
    pair, rest = out, 0
    return pair + rest
"""
UNIT = 1


def recipe(right: str = RIGHT) -> Recipe:
    return Recipe("total", right, lambda: {"UNIT": UNIT})


@pytest.mark.parametrize(
    ("versions", "value"),
    [
        ((), 16),
        (("first = 0",), 6),
        (("step = 2 * number * UNIT",), 22),
        (("pair, rest = 0, -out",), -16),
        (("return pair - rest - 1",), 15),
        (("out = 0",), 6),
        (("out -= step",), 4),
        (("half = start / 2\nfirst = half",), 11),
        (("start = 1\nnumbers = [5]\nfirst = start",), 6),
        (("step = number\nstep = step + 1",), 19),
        (("for i in range(2):\n    start += i\nfirst = start",), 17),
        (("first = 0", "step = 2 * number"), 12),
        (("first = 0\nreturn -pair",), -6),
        (("def total(numbers, start=0):\n    return 99",), 99),
        (("def twice(x):\n    return 2 * x\nstep = twice(number)",), 22),
        (("first = math.floor(start + 0.5)",), 16),
    ],
)
def test_a_line_replaces_the_step_of_its_name(versions: tuple[str, ...], value: int) -> None:
    made = recipe()
    assert made.function(*versions)([1, 2, 3], 10) == value
    assert made.function()([1, 2, 3], 10) == 16  # the right answer stays what it is
    assert made.function(*versions) is made.function(*versions)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("last = 0", "'last = 0' replaces no step; the steps are first, step, 'pair, rest'"),
        ("print(first)", "'print.first.' replaces no step"),
        ("rest = 0", "'rest = 0' replaces no step"),
        ("first = = 0", "'first = = 0' is not Python: invalid syntax"),
        ("", "replaces no step"),
        ("first = 0\nlast = 1", "'last = 1' replaces no step"),
    ],
)
def test_a_line_that_fits_nowhere_is_refused(line: str, words: str) -> None:
    with pytest.raises(RecipeError, match=words) as caught:
        recipe().function(line)
    assert str(caught.value).startswith("total: ")


@pytest.mark.parametrize(
    ("right", "words"),
    [
        ("def other():\n    return 1", "its right answer must define total"),
        ("def total(:", "its right answer is not Python"),
    ],
)
def test_a_right_answer_that_is_none_is_refused(right: str, words: str) -> None:
    with pytest.raises(RecipeError, match=words):
        recipe(right).function()


def test_a_name_that_is_set_twice_alike_cannot_be_replaced() -> None:
    with pytest.raises(RecipeError, match="its right answer sets out more than once"):
        recipe(RIGHT.replace("out += step", "out = out + step")).function("out = 0")


def test_nothing_is_read_before_it_is_asked_for() -> None:
    recipe("def total(:")


def test_names_that_nothing_defines_and_names_that_nothing_reads_are_found() -> None:
    assert recipe().unknown() == set()
    assert recipe().unknown("first = sart") == {"sart"}
    assert recipe().unused("frist = 0\nfirst = start") == {"frist"}
    assert recipe().unused("half = start / 2\nfirst = half") == set()


def test_what_a_version_sets_decides_which_go_together() -> None:
    made = recipe()
    assert made.sets("half = start / 2\nfirst = half") == {"half", "first"}
    assert made.sets("return 0") == {"return"}
    assert made.sets("def total(numbers, start=0):\n    return 99") == frozenset()


MISTAKES = (mistake("a", "A?", "x = 1", "x = 2"), mistake("b", "B?", "y = 1"))


def test_mistakes_are_chosen_by_name_and_versions_by_line() -> None:
    assert [one.name for one in without(MISTAKES, "a")] == ["b"]
    assert without(MISTAKES, "x = 2")[0].versions == ("x = 1",)
    assert [one.name for one in without(MISTAKES, "y = 1")] == ["a"]
    assert [one.name for one in only(MISTAKES, "b", "a")] == ["b", "a"]
    assert [one.says for one in saying(MISTAKES, {"b": "Why?"})] == ["A?", "Why?"]


@pytest.mark.parametrize("choose", [without, lambda m, n: saying(m, {n: "?"})])
def test_a_choice_of_what_is_not_there_is_refused(choose) -> None:
    with pytest.raises(ValueError, match="hold none called 'c'"):
        choose(MISTAKES, "c")
