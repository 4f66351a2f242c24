"""The laws that hold for every exercise of the course, whoever adds it."""

import inspect
import time

import pytest
import torch

from course_utils.checking.exercise import Case, Exercise, Function
from course_utils.checking.guard import SECONDS
from course_utils.checking.judge import judge
from course_utils.checking.observe import Observation, observe
from course_utils.checking.recognise import Recogniser
from course_utils.exercises import all_exercises, find
from tests.exercises.right_ways import RIGHT_WAYS

EXERCISES = all_exercises()
each_exercise = pytest.mark.parametrize("exercise", EXERCISES, ids=lambda e: e.name)
EACH_RIGHT_WAY = [(find(name), way) for name, ways in RIGHT_WAYS.items() for way in ways]


def observe_once(
    exercise: Exercise, fn: Function, case: Case, seed: int, seconds: float = SECONDS
) -> Observation:
    """Run one of the exercise's own functions on a case, whose number is the seed, only once."""
    recogniser = Recogniser(exercise, lambda index: recogniser.run(fn, index))
    return recogniser.run(fn, seed)


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


@pytest.mark.thorough
@pytest.mark.usefixtures("told")
@each_exercise
def test_a_misconception_is_caught_as_itself_and_nothing_else(exercise: Exercise) -> None:
    # One test an exercise: what its mistakes do on its cases is computed once and kept.
    for mistake in exercise.misconceptions:
        report = judge(exercise, mistake.wrong)
        assert (report.status, report.misconception) == ("misconception", mistake.name)
        assert report.says == mistake.says


@pytest.mark.thorough
@pytest.mark.usefixtures("told")
@each_exercise
def test_every_other_way_to_write_a_misconception_is_caught_as_it(exercise: Exercise) -> None:
    for mistake in exercise.misconceptions:
        for version in mistake.also:
            assert judge(exercise, version).misconception == mistake.name


@pytest.mark.thorough
@each_exercise
def test_a_misconception_is_no_mere_crash(exercise: Exercise) -> None:
    for mistake in exercise.misconceptions:
        for version in mistake.versions:
            cases = enumerate(exercise.cases)
            kinds = (observe_once(exercise, version, case, i).outcome.kind for i, case in cases)
            assert "returned" in kinds, mistake.name


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("exercise", "way"), EACH_RIGHT_WAY, ids=[f"{e.name}: {w.__name__}" for e, w in EACH_RIGHT_WAY]
)
def test_another_right_way_passes(exercise: Exercise, way: object) -> None:
    report = judge(exercise, way)
    assert report.passed, f"{report.status}: {report.says}"


@each_exercise
def test_at_least_three_other_right_ways_are_tried(exercise: Exercise) -> None:
    assert len(RIGHT_WAYS[exercise.name]) >= 3


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
                assert one.data_ptr() != other.data_ptr()
                torch.testing.assert_close(one, other, rtol=0, atol=0, equal_nan=True)


@each_exercise
def test_the_signature_is_the_reference_s(exercise: Exercise) -> None:
    given = inspect.signature(exercise.reference)
    promised = exercise.signature.removeprefix(exercise.name)
    shown = ", ".join(
        name if p.default is p.empty else f"{name}={p.default}"
        for name, p in given.parameters.items()
    )
    assert promised == f"({shown})"


@each_exercise
def test_every_case_has_its_own_name(exercise: Exercise) -> None:
    names = [case.name for case in exercise.cases]
    assert len(set(names)) == len(names)


@each_exercise
def test_every_misconception_has_its_own_name_and_says_enough(exercise: Exercise) -> None:
    names = [mistake.name for mistake in exercise.misconceptions]
    assert len(set(names)) == len(names)
    for mistake in exercise.misconceptions:
        assert len(mistake.says) > 40
        assert mistake.says.endswith((".", "?"))


@each_exercise
def test_hints_go_from_a_nudge_to_nearly_the_answer(exercise: Exercise) -> None:
    assert 3 <= len(exercise.hints) <= 6
    assert len(set(exercise.hints)) == len(exercise.hints)


@each_exercise
def test_neither_hints_nor_messages_hold_a_line_of_the_solution(exercise: Exercise) -> None:
    body = inspect.getsource(exercise.reference).split('"""')[-1]
    lines = {line.strip() for line in body.splitlines() if len(line.strip()) > 15}
    told = [*exercise.hints, *(m.says for m in exercise.misconceptions)]
    assert not [text for text in told for line in lines if line in text]


@each_exercise
def test_the_global_random_state_stays(exercise: Exercise) -> None:
    before = torch.get_rng_state()
    judge(exercise, lambda *args: torch.rand(3))
    assert torch.equal(before, torch.get_rng_state())


@pytest.mark.thorough
@each_exercise
def test_a_verdict_takes_less_than_a_second(exercise: Exercise) -> None:
    judge(exercise, exercise.reference)
    start = time.process_time()
    judge(exercise, exercise.reference)
    judge(exercise, exercise.misconceptions[-1].wrong)
    assert (time.process_time() - start) / 2 < 1.0


@pytest.mark.thorough
@each_exercise
def test_the_reference_changes_no_input(exercise: Exercise) -> None:
    for index, case in enumerate(exercise.cases):
        assert observe(exercise, exercise.reference, case, index, 5.0).changed_inputs == ()


def test_exercise_names_are_unique() -> None:
    names = [exercise.name for exercise in EXERCISES]
    assert len(set(names)) == len(names)
