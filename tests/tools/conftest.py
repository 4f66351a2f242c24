import shutil
from pathlib import Path

import pytest

from tests.tools.small_course import SMALL, Course, asked_of
from tools.build_notebooks import main


@pytest.fixture
def course(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Course:
    return Course(tmp_path, capsys)


@pytest.fixture(scope="session")
def built_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("course")
    (root / "solutions").mkdir()
    (root / "solutions" / "03_small.py").write_text(SMALL, encoding="utf-8")
    assert main(["--root", str(root)], asked_of) == 0
    return root


@pytest.fixture
def built(course: Course, built_once: Path) -> Course:
    """A course of one chapter that is up to date."""
    shutil.copytree(built_once, course.root, dirs_exist_ok=True)
    return course
