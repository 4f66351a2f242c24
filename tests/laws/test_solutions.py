"""The solutions that the chapters' sources hold pass."""

import math
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F

from course_utils import attention, distributed, positions
from course_utils.checking.exercise import Exercise
from course_utils.checking.judge import judge
from course_utils.exercises import all_exercises
from course_utils.learner import solution

SOLUTIONS = Path(__file__).resolve().parents[2] / "solutions"
CHAPTERS = {int(path.name[:2]) for path in SOLUTIONS.glob("[0-9][0-9]_*.py")}
TAUGHT = [exercise for exercise in all_exercises() if exercise.chapter in CHAPTERS]
each_taught = pytest.mark.parametrize("exercise", TAUGHT, ids=lambda e: e.name)


def test_some_exercises_are_taught() -> None:
    assert TAUGHT


@pytest.mark.thorough
@each_taught
def test_the_chapter_s_own_solution_passes(exercise: Exercise) -> None:
    names = {
        "torch": torch, "math": math, "F": F, "attention": attention, "distributed": distributed,
        "positions": positions,
    }  # fmt: skip
    exec(solution(exercise.name, anyway=True).code, names)
    report = judge(exercise, names[exercise.name])
    assert report.passed, report.says
