"""No verdict depends on the session: each exercise in each state, during it and afterwards.

`make test` runs the laws of the exercises in one state each, in turn.
"""

import pytest

from course_utils.checking.exercise import Exercise
from course_utils.checking.judge import judge
from course_utils.checking.settings import session
from course_utils.exercises import all_exercises
from tests.exercises.right_ways import RIGHT_WAYS
from tests.laws.sessions import STATES, all_at_once


def _mistakes(exercise: Exercise) -> list[tuple[str, object]]:
    """Three mistakes, from the first to the last."""
    seen = [m for m in exercise.mistakes if m.versions]
    chosen = {0: seen[0], len(seen) // 2: seen[len(seen) // 2], len(seen) - 1: seen[-1]}
    return [(one.name, exercise.versions(one)[0]) for one in chosen.values()]


def _as_expected(exercise: Exercise, ways: tuple[object, ...] = ()) -> None:
    for right in (exercise.reference, *ways):
        report = judge(exercise, right)
        assert report.passed, (right, report)
    for name, wrong in _mistakes(exercise):
        assert judge(exercise, wrong).misconceptions == (name,)


@pytest.mark.exhaustive
@pytest.mark.parametrize("exercise", all_exercises(), ids=lambda e: e.name)
@pytest.mark.parametrize("state", [*STATES, "all of them at once"])
def test_a_verdict_is_the_same_in_every_session(exercise: Exercise, state: str) -> None:
    with STATES.get(state, all_at_once)():
        before = session()
        _as_expected(exercise, RIGHT_WAYS[exercise.name])
        assert session() == before
    _as_expected(exercise)
