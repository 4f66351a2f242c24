"""The tests of `make check` follow what was changed."""

import subprocess
from pathlib import Path

import pytest

from tools import changed_tests
from tools.changed_tests import ALWAYS, mirror


@pytest.mark.parametrize(
    ("file", "test"),
    [
        ("course_utils/attention/core/softmax.py", "tests/attention/core/test_softmax.py"),
        (
            "course_utils/models/released/_weight_names.py",
            "tests/models/released/test_weight_names.py",
        ),
        ("course_utils/claims/__init__.py", "tests/test_claims.py"),
        ("tools/shown.py", "tests/tools/test_shown.py"),
        ("tests/laws/test_house.py", "tests/laws/test_house.py"),
    ],
)
def test_a_test_s_path_is_that_of_its_module(file: str, test: str) -> None:
    assert mirror(file) == test


def test_changed_and_new_files_count_and_else_those_of_the_last_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changed_tests, "ROOT", tmp_path)
    for name in ("book/pages.py", "tests/book/test_pages.py", "tools/new.py", "README.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()

    def git(*arguments: str) -> None:
        own = ["-c", "user.name=a", "-c", "user.email=a@b"]
        subprocess.run(["git", *own, *arguments], cwd=tmp_path, check=True, capture_output=True)

    git("init")
    git("commit", "--allow-empty", "-m", "first")
    git("add", ".")
    git("commit", "-m", "second")
    assert changed_tests.tests() == [*ALWAYS, "tests/book/test_pages.py"]
    (tmp_path / "tests/tools").mkdir()
    (tmp_path / "tests/tools/test_shown.py").touch()
    assert changed_tests.tests() == [*ALWAYS, "tests/tools/test_shown.py"]
