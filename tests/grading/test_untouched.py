"""Changes that torch makes to itself late are not blamed on an answer."""

import subprocess
import sys

import pytest

LATE = """
from course_utils.exercises import find
from course_utils.grading.untouched import Untouched
kept = Untouched(find("append_kv"))
import torch._dynamo
print(kept.changes())
"""


@pytest.mark.thorough
def test_a_compiler_that_is_loaded_late_has_changed_nothing() -> None:
    done = subprocess.run([sys.executable, "-c", LATE], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
