"""The process that judges for nbgrader is kept from one notebook to the next, while it lives."""

import sys

import pytest

from course_utils.checking.report import Report
from course_utils.grading.nbgrader_judge import Grader

# Passes every exercise and says its process number; ends, or says nonsense, when asked to.
PROGRAM = """
import json, os, sys
for line in sys.stdin:
    for name in json.loads(line)["exercises"]:
        if name == "the end":
            sys.exit()
        if name == "nonsense":
            print(name)
        print(json.dumps({"exercise": name, "status": "passed", "says": str(os.getpid())}))
    print(flush=True)
"""


def test_one_process_judges_many_notebooks() -> None:
    with Grader(sys.executable, "-c", PROGRAM) as grader:
        first, second = (grader.judged({}, ["one", "other"]) for _ in range(2))
    assert list(first) == ["one", "other"]
    assert first["one"] == Report("one", "passed", first["other"].says)
    assert second == first


def test_a_process_that_ends_keeps_what_it_said_and_is_replaced() -> None:
    with Grader(sys.executable, "-c", PROGRAM) as grader:
        before = grader.judged({}, ["one", "the end", "other"])
        after = grader.judged({}, ["one"])
    assert list(before) == list(after) == ["one"]
    assert before["one"].says != after["one"].says


def test_what_one_notebook_left_unread_is_no_verdict_on_the_next() -> None:
    with Grader(sys.executable, "-c", PROGRAM) as grader:
        with pytest.raises(ValueError, match="Expecting value"):
            grader.judged({}, ["one", "nonsense", "two"])
        assert list(grader.judged({}, ["three"])) == ["three"]
