"""What the chapters' sources say of the exercises, and that their solutions pass."""

import math
import re
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F

from course_utils import attention, positions
from course_utils.checking.exercise import Exercise
from course_utils.checking.face import solution
from course_utils.checking.judge import judge
from course_utils.exercises import all_exercises

SOURCES = {
    int(path.name[:2]): path.read_text(encoding="utf-8")
    for path in (Path(__file__).resolve().parents[2] / "solutions").glob("[0-9][0-9]_*.py")
}
TAUGHT = [exercise for exercise in all_exercises() if exercise.chapter in SOURCES]
each_taught = pytest.mark.parametrize("exercise", TAUGHT, ids=lambda e: e.name)


def test_some_exercises_are_taught() -> None:
    assert TAUGHT


@pytest.mark.thorough
@each_taught
def test_the_chapter_s_own_solution_passes(exercise: Exercise) -> None:
    names = {"torch": torch, "math": math, "F": F, "attention": attention, "positions": positions}
    exec(solution(exercise.name, anyway=True).code, names)
    report = judge(exercise, names[exercise.name])
    assert report.passed, report.says


@each_taught
def test_the_text_tells_difficulty_importance_and_minutes_as_the_data_do(
    exercise: Exercise,
) -> None:
    before = SOURCES[exercise.chapter].partition(f'exercise="{exercise.name}"')[0]
    told = re.findall(r"Difficulty (\d)/5 · importance (\d)/5 · (\d+) minutes", before)
    assert told, "no line with difficulty, importance and minutes"
    wanted = (str(exercise.difficulty), str(exercise.importance), str(exercise.minutes))
    assert told[-1] == wanted
