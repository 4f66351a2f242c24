"""Processor time is added up by folder and written into the book."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tools import time_tests


def test_the_table_has_the_longest_first_and_its_place_in_the_page() -> None:
    text = time_tests.table({"a": 60.0, "b": 180.0}, 120.0)
    assert "4 minutes of processor time, 2 on the clock." in text
    assert text.endswith("| b | 180 | 75% |\n| a | 60 | 25% |\n")
    page = time_tests.PAGE.read_text(encoding="utf-8")
    assert len(time_tests.BLOCK.findall(page)) == 1


@pytest.mark.parametrize(
    ("path", "name"),
    [
        (time_tests.ROOT / "tests/attention/cheaper/test_lsh.py", "`tests/attention`"),
        (time_tests.ROOT / "tests/test_environment.py", "`tests/*.py`"),
        (Path("/elsewhere/notebooks/06_masks.ipynb"), "`notebooks/*.ipynb`"),
    ],
)
def test_a_folder_is_an_area(path: Path, name: str) -> None:
    assert time_tests.area(path) == name


@pytest.mark.thorough
def test_a_worker_writes_what_its_tests_took(tmp_path: Path) -> None:
    told = {"PYTEST_PLUGINS": "tools.time_tests", "TEST_TIMES": str(tmp_path)}
    tests = ["tests/laws/test_documents.py", "tests/data/test_text.py"]
    command = [sys.executable, "-m", "pytest", "-q", "-n", "1", "-p", "no:nbval", *tests]
    subprocess.run(command, cwd=time_tests.ROOT, env={**os.environ, **told}, check=True)
    (file,) = tmp_path.iterdir()
    spent = json.loads(file.read_text(encoding="utf-8"))
    assert set(spent) == {"`tests/laws`", "`tests/data`", time_tests.REST}
