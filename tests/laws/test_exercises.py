"""The laws that hold for every exercise of the course, whoever adds it."""

import inspect
import zlib
from collections.abc import Iterator

import pytest
import torch

from course_utils.checking.costs import count_cost
from course_utils.checking.exercise import Case, Cost, Exercise
from course_utils.checking.guard import SECONDS
from course_utils.checking.isolation import shared_snapshot
from course_utils.checking.judge import judge
from course_utils.checking.observe import Observation, observe
from course_utils.checking.recipe import Function
from course_utils.checking.recognise import Recogniser, once
from course_utils.checking.settings import judging
from course_utils.exercises import all_exercises, find
from tests.exercises.right_ways import RIGHT_WAYS
from tests.laws.sessions import one_of_them

EXERCISES = all_exercises()
each_exercise = pytest.mark.parametrize("exercise", EXERCISES, ids=lambda e: e.name)
EACH_RIGHT_WAY = [(find(name), way) for name, ways in RIGHT_WAYS.items() for way in ways]


def observe_once(
    exercise: Exercise, fn: Function, case: Case, seed: int, seconds: float = SECONDS
) -> Observation:
    """Run one of the exercise's own functions on a case, whose number is the seed, only once."""
    if any(fn in exercise.versions(one) for one in exercise.mistakes if one.detects):
        return observe(exercise, fn, case, seed, seconds)  # here the way is looked at, too
    recogniser = Recogniser(exercise, lambda index: recogniser.run(fn, index))
    return recogniser.run(fn, seed)


def count_once(cost: Cost, fn: Function) -> tuple[int, int] | None:
    """Count what one of the exercise's own functions costs only once."""
    counts: tuple[int, int] | None = once("cost", cost, fn, lambda: count_cost(cost, fn))
    return counts


@pytest.fixture
def session(request: pytest.FixtureRequest) -> Iterator[None]:
    """Judge in a session with other settings, which are chosen by the test's name."""
    with one_of_them(zlib.crc32(request.node.name.encode())):
        yield


@pytest.mark.usefixtures("session")
@each_exercise
def test_the_reference_passes(exercise: Exercise) -> None:
    report = judge(exercise, exercise.reference)
    assert report.passed, report.says


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tell the judge what the catalogue knows: there are thousands of versions.

    `make mutants` hands each in as a learner would.
    """
    monkeypatch.setattr("course_utils.checking.judge.observe", observe_once)
    monkeypatch.setattr("course_utils.checking.judge.count_cost", count_once)


@pytest.mark.thorough
@pytest.mark.usefixtures("told", "session")
@each_exercise
def test_a_misconception_is_caught_as_itself_and_nothing_else(exercise: Exercise) -> None:
    # One test an exercise: what its mistakes do on its cases is computed once and kept.
    for mistake in exercise.mistakes:
        for version in exercise.versions(mistake):
            report = judge(exercise, version)
            found = (report.status, report.misconceptions, report.says)
            assert found == ("misconception", (mistake.name,), mistake.says)
            cases = enumerate(exercise.cases)
            with judging(), shared_snapshot():
                seen = (observe_once(exercise, version, case, i).outcome for i, case in cases)
                assert any(one.kind == "returned" for one in seen), mistake.name  # no mere crash


@pytest.mark.thorough
@pytest.mark.usefixtures("session")
@each_exercise
def test_the_right_answer_in_steps_passes(exercise: Exercise) -> None:
    report = judge(exercise, exercise.recipe.function())
    assert report.passed, report.says


@pytest.mark.thorough
@each_exercise
def test_every_line_is_formatted_and_uses_names_that_exist(exercise: Exercise) -> None:
    lines = [v for m in exercise.mistakes for v in m.versions if isinstance(v, str)]
    for version in ((), *((line,) for line in lines)):
        assert exercise.recipe.unknown(*version) == set(), version
    for text in (exercise.right, *lines):
        assert text.strip("\n") == "\n".join(line.rstrip() for line in text.strip("\n").split("\n"))
        assert max(map(len, text.split("\n"))) <= 120, text


@pytest.mark.thorough
@each_exercise
def test_every_new_name_in_a_line_is_used_by_a_later_one(exercise: Exercise) -> None:
    lines = [v for m in exercise.mistakes for v in m.versions if isinstance(v, str)]
    assert not [line for line in lines if exercise.recipe.unused(line)]


@pytest.mark.thorough
@pytest.mark.usefixtures("session")
@pytest.mark.parametrize(
    ("exercise", "way"), EACH_RIGHT_WAY, ids=[f"{e.name}: {w.__name__}" for e, w in EACH_RIGHT_WAY]
)
def test_another_right_way_passes(exercise: Exercise, way: object) -> None:
    report = judge(exercise, way)
    assert report.passed, f"{report.status}: {report.says}"


@pytest.mark.usefixtures("session")
@each_exercise
def test_a_stub_is_not_attempted(exercise: Exercise) -> None:
    def raising(*args: object) -> None:
        raise NotImplementedError

    def empty(*args: object) -> None:
        """Nothing yet."""

    for stub in (raising, empty, None, ...):
        assert judge(exercise, stub).status == "not_attempted"


@each_exercise
def test_inputs_are_fresh_and_the_same_for_a_seed(exercise: Exercise) -> None:
    for case in exercise.cases:
        first, again = case.arguments(3), case.arguments(3)
        for one, other in zip(first, again, strict=True):
            if isinstance(one, torch.Tensor):
                assert one.data_ptr() != other.data_ptr() or not one.numel()
                torch.testing.assert_close(one, other, rtol=0, atol=0, equal_nan=True)


@each_exercise
def test_every_case_has_its_own_name(exercise: Exercise) -> None:
    names = [case.name for case in exercise.cases]
    assert len(set(names)) == len(names)


@each_exercise
def test_every_misconception_has_its_own_name_and_says_enough(exercise: Exercise) -> None:
    names = [mistake.name for mistake in exercise.mistakes]
    assert len(set(names)) == len(names)
    for mistake in exercise.mistakes:
        assert len(mistake.says) > 40
        assert mistake.says.endswith((".", "?"))


@each_exercise
def test_three_cases_and_a_hint_are_enough(exercise: Exercise) -> None:
    assert len(exercise.cases) >= 3
    assert 1 <= len(exercise.hints) <= 6
    assert len(set(exercise.hints)) == len(exercise.hints)


@each_exercise
def test_neither_hints_nor_messages_hold_a_line_of_the_solution(exercise: Exercise) -> None:
    body = inspect.getsource(exercise.reference).split('"""')[-1]
    lines = {line.strip() for line in body.splitlines() if len(line.strip()) > 15}
    told = [*exercise.hints, *(m.says for m in exercise.mistakes)]
    assert not [text for text in told for line in lines if line in text]


def test_exercise_names_are_unique() -> None:
    names = [exercise.name for exercise in EXERCISES]
    assert len(set(names)) == len(names)
