"""`.venv` is made once; a broken or half-made one is noticed and mended."""

import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from setup_course import PINS, break_python, empty_venv, make_course, put

from course_utils.environment import STAMP, fault, read_stamp
from tools import setup_env, setup_pip
from tools.setup_pip import SetupError

pytestmark = pytest.mark.thorough  # every test starts processes

Call = tuple[tuple[str, ...], str]


@pytest.fixture(autouse=True)
def _no_wish(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTHON", raising=False)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return make_course(tmp_path / "my course")


@pytest.fixture
def installs(root: Path, monkeypatch: pytest.MonkeyPatch) -> list[Call]:
    """Every installation that was asked for; each is done by writing metadata."""
    calls: list[Call] = []

    def install(root: Path, python: Path, extras: tuple[str, ...], torch: str) -> None:
        calls.append((extras, torch))
        put(root / ".venv", PINS | ({"pytest": "9.2.0"} if "test" in extras else {}), root)

    monkeypatch.setattr(setup_pip, "install", install)
    monkeypatch.setattr(setup_env, "make_venv", empty_venv)
    return calls


def test_first_start_installs_and_second_does_nothing(root: Path, installs: list[Call]) -> None:
    setup_env.prepare(root)
    setup_env.prepare(root)
    assert installs == [((), "cpu")]
    assert fault(root) is None


def test_extras_are_added_and_then_kept(root: Path, installs: list[Call]) -> None:
    setup_env.prepare(root)
    setup_env.prepare(root, ("test",))
    setup_env.prepare(root)
    assert installs == [((), "cpu"), (("test",), "cpu")]
    (root / "constraints.txt").write_text("pip==26.4\n", encoding="utf-8")
    setup_env.prepare(root)
    assert installs[-1] == (("test",), "cpu")


def test_other_build_of_torch_is_installed_afresh(root: Path, installs: list[Call]) -> None:
    setup_env.prepare(root)
    trace = root / ".venv" / "trace"
    trace.touch()
    setup_env.prepare(root, torch="gpu")
    assert installs[-1] == ((), "gpu")
    assert not trace.exists()
    setup_env.prepare(root)
    assert len(installs) == 2


def edit_pins(root: Path) -> None:
    text = (root / "pyproject.toml").read_text(encoding="utf-8")
    (root / "pyproject.toml").write_text(text.replace("2.3.5", "2.3.6"), encoding="utf-8")


def edit_settings(root: Path) -> None:
    with (root / "pyproject.toml").open("a", encoding="utf-8") as file:
        file.write("[tool.ruff]\nline-length = 99\n")


def lose_package(root: Path) -> None:
    put(root / ".venv", {"numpy": "1.0"}, root)


def move_away(root: Path) -> None:
    put(root / ".venv", {}, make_course(root.parent / "elsewhere"))


def tear_stamp(root: Path) -> None:
    (root / ".venv" / STAMP).write_text('{"pins": ', encoding="utf-8")


@pytest.mark.parametrize(
    ("harm", "reason"),
    [
        (edit_pins, "pins other versions"),
        (edit_settings, None),
        (lose_package, "numpy 2.3.5 is wanted, 1.0 is there"),
        (move_away, "not installed in it from this folder"),
        (lambda root: break_python(root / ".venv"), "its Python does not run"),
        (tear_stamp, "interrupted"),
        (lambda root: shutil.rmtree(root / ".venv"), "not there yet"),
    ],
)
def test_what_is_wrong_is_seen(
    root: Path, installs: list[Call], harm: Callable[[Path], None], reason: str | None
) -> None:
    setup_env.prepare(root)
    harm(root)
    seen = fault(root)
    assert seen == reason if reason is None else reason in str(seen)


@pytest.mark.parametrize("harm", [lose_package, move_away, tear_stamp, lambda root: None])
def test_wrong_is_mended_without_starting_afresh(
    root: Path, installs: list[Call], harm: Callable[[Path], None]
) -> None:
    setup_env.prepare(root)
    trace = root / ".venv" / "trace"
    trace.touch()
    harm(root)
    setup_env.prepare(root)
    assert fault(root) is None
    assert trace.exists()


def test_broken_python_is_replaced(root: Path, installs: list[Call]) -> None:
    setup_env.prepare(root)
    break_python(root / ".venv")
    setup_env.prepare(root)
    assert fault(root) is None


def test_half_made_venv_is_made_afresh(root: Path, installs: list[Call]) -> None:
    empty_venv(root / ".venv")  # as after an interruption before pip was there
    (root / ".venv" / "trace").touch()
    setup_env.prepare(root)
    assert fault(root) is None
    assert not (root / ".venv" / "trace").exists()


def test_interrupted_installation_is_not_taken_for_done(
    root: Path, installs: list[Call], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: Any) -> None:
        put(root / ".venv", PINS, root)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(setup_pip, "install", interrupt)
        with pytest.raises(KeyboardInterrupt):
            setup_env.prepare(root)
    assert "interrupted" in str(fault(root))
    setup_env.prepare(root)
    assert len(installs) == 1


def test_installation_that_lacks_a_package_is_not_taken_for_done(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(setup_env, "make_venv", empty_venv)
    monkeypatch.setattr(setup_pip, "install", lambda *_: put(root / ".venv", {}, root))
    with pytest.raises(SetupError, match=r"torch 2\.13\.0 is wanted, none is there"):
        setup_env.prepare(root)
    assert read_stamp(root / ".venv") == {}


def test_python_that_is_asked_for_is_taken(
    root: Path, installs: list[Call], monkeypatch: pytest.MonkeyPatch
) -> None:
    setup_env.prepare(root)
    monkeypatch.setenv("PYTHON", sys.executable)
    setup_env.prepare(root)
    assert len(installs) == 1
    monkeypatch.setattr(setup_env, "asked_python", lambda: (3, 99))
    setup_env.prepare(root)
    assert len(installs) == 2
