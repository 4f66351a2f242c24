"""The JavaScript tests run where Node.js is; elsewhere that is said, under CI it is an error."""

import os
from pathlib import Path

import pytest

from tests.tools.test_setup_env import program
from tools import node_tests


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder on PATH."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CI", raising=False)
    return tmp_path


@pytest.mark.parametrize(
    ("versions", "reason"),
    [
        ({}, "node and npm not found"),
        ({"node": "v22.1.0"}, "npm not found"),
        ({"node": "v18.19.0", "npm": "9"}, "node is v18.19.0"),
        ({"node": "", "npm": "9"}, "node is broken"),
    ],
)
def test_skipping_is_said_and_fails_under_ci(
    programs: Path,
    versions: dict[str, str],
    reason: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name, version in versions.items():
        program(programs / name, f"echo {version}")
    assert node_tests.main() == 0
    assert f"SKIPPED the JavaScript tests: {reason}" in capsys.readouterr().out
    monkeypatch.setenv("CI", "true")
    assert node_tests.main() == 1


@pytest.mark.parametrize("status", [0, 1])
def test_packages_are_installed_once_and_the_status_is_nodes(
    programs: Path, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    root = programs / "course"
    (root / "tests").mkdir(parents=True)
    (root / "tests" / "one.test.mjs").touch()
    (root / "package-lock.json").touch()
    copy = "mkdir -p node_modules; : > node_modules/.package-lock.json; echo run >> npm-runs"
    program(programs / "npm", f"PATH=/bin:/usr/bin; {copy}")
    node = f'[ "$1" = --version ] && echo v20.1.0 && exit 0; echo "$@" > node-run; exit {status}'
    program(programs / "node", node)
    monkeypatch.setattr(node_tests, "ROOT", root)
    assert [node_tests.main(), node_tests.main()] == [status, status]
    assert (root / "npm-runs").read_text(encoding="utf-8") == "run\n"
    assert "tests/one.test.mjs" in (root / "node-run").read_text(encoding="utf-8")
    newer = (root / "node_modules" / ".package-lock.json").stat().st_mtime + 10
    os.utime(root / "package-lock.json", (newer, newer))
    assert not node_tests.up_to_date(root)
