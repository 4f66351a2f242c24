"""`.venv` is made once; a broken one is repaired; what goes wrong is said in a sentence."""

import json
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from course_utils.environment import MODEL_MB, ROOT, STAMP, read_pins
from tools import setup_env

pytestmark = pytest.mark.thorough  # nearly every test starts processes
PYTHON = sys._base_executable  # it knows nothing of this repository and its .venv
WELL = "echo Would make no changes"
FAILS = 'case "$*" in *{}*) echo "{}"; exit 2;; esac'
TORCH = f"torch=={read_pins(ROOT)['torch']}"
CHANGES = FAILS.format("--offline", "error: No solution found")
Setup = Callable[..., tuple[str, list[str]]]


def program(path: Path, script: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(0o755)


@pytest.fixture
def venv(tmp_path: Path) -> Path:
    """The environment of a complete course, as far as anything but uv can tell."""
    root = tmp_path / "my course"
    for name in ("tools/setup_env.py", "tools/setup.sh", "course_utils/environment.py"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, root / name)
    shutil.copy(ROOT / "pyproject.toml", root)
    subprocess.run([PYTHON, "-m", "venv", "--without-pip", root / ".venv"], check=True)
    (root / ".venv" / STAMP.name).write_text(json.dumps({"torch": "cpu", "course": str(root)}))
    return root / ".venv"


@pytest.fixture
def setup(venv: Path) -> Setup:
    """Sets up with a uv that is a script; returns what was said, and what uv was to install."""

    def setup(
        uv: str, *options: str, status: int = 0, model: str = "none"
    ) -> tuple[str, list[str]]:
        asked = 'echo "${*#*requirements.txt }" >>calls\ntest "$1" = pip || exec echo uv 0.13.9'
        program(venv.parent / "bin" / "uv", f"{asked}\n{uv}")
        done = subprocess.run(
            ["/bin/sh", "tools/setup.sh", "--model", model, *options], cwd=venv.parent, text=True,
            stdout=-1, stderr=-2, env={"PATH": f"{venv.parent}/bin:/bin", "PYTHON": PYTHON},
            # A job in the background is started with interrupts ignored.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )  # fmt: skip
        assert done.returncode == status, done.stdout
        calls = (venv.parent / "calls").read_text().splitlines()
        return done.stdout, [call for call in calls if call != "--version"]

    return setup


def test_complete_environment_is_left_alone_without_network(setup: Setup) -> None:
    assert setup(WELL) == ("", ["--offline --dry-run -r pyproject.toml"])


def test_what_is_missing_is_installed_and_torch_first(venv: Path, setup: Setup) -> None:
    course = "-r pyproject.toml --extra=test --extra=book"
    torch = [f"{TORCH}+cpu"] if sys.platform == "linux" else []
    _, calls = setup(CHANGES, "--extras", "test,book")
    assert calls[1:] == [f"--dry-run {course}", *torch, f"{course} -e ."]
    assert (venv / STAMP.name).exists()


def test_the_model_is_fetched_last_and_its_failure_is_none(venv: Path, setup: Setup) -> None:
    command = venv.parent / "course_utils" / "__main__.py"
    command.write_text("import sys\nprint(*sys.argv[1:], flush=True)\nsys.exit(1)\n")
    assert setup(WELL, model="")[0] == "model --set-up\n"
    said, _ = setup(CHANGES, model="")
    assert said.splitlines()[1].endswith(f"({MODEL_MB} MB, once; MODEL=none leaves it out).")
    assert said.splitlines()[-1] == "model --set-up"
    assert "MODEL" not in setup(CHANGES)[0]


def test_learn_and_test_alone_fetch_the_model_unless_told_not_to() -> None:
    for command, asked in (
        (["learn"], ""), (["test"], ""), (["chat"], ""), (["learn", "MODEL=none"], "none"),
        (["test", "MODEL=none"], "none"), (["check"], "none"), (["hub-demo"], "none"),
    ):  # fmt: skip
        done = subprocess.run(["make", "-n", *command], cwd=ROOT, capture_output=True, text=True)
        assert re.findall(r'setup\.sh .*--model "(.*?)"', done.stdout) == [asked], command


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere there is one build")
def test_cpu_build_comes_from_its_own_index_or_the_other_is_offered(setup: Setup) -> None:
    elsewhere = f"{CHANGES}\n{FAILS.format('+cpu', 'No solution found')}"
    assert setup(elsewhere)[1][-2] == f"--torch-backend=cpu {TORCH}"
    cuda = f"{elsewhere}\n{FAILS.format('backend', 'dns error')}\necho ' + nvidia-cublas==1'"
    assert "`make learn TORCH=gpu` takes the ordinary build" in setup(cuda, status=1)[0]


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ("failed to write: No space left on device (os error 28)", "The disk is full."),
        ("Failed to create: Permission denied (os error 13)", "A folder cannot be written."),
        ("[Errno 30] Read-only file system: '.venv'", "A folder cannot be written."),
        ("client error (Connect) cause: dns error", "there is no way to the package index"),
        ("Packages were unavailable because the network was disabled", "no way to the package"),
        ("No solution found when resolving", "There is no build of a pinned package"),
        ("odd thing", "The installation failed:\nodd thing"),
    ],
)
def test_trouble_is_said_in_a_sentence(said: str, sentence: str) -> None:
    assert sentence in setup_env.explain(said)


@pytest.mark.parametrize("harm", ["disk", "other", "interrupt", "python", "move", "build"])
def test_what_is_wrong_is_repaired(venv: Path, setup: Setup, harm: str) -> None:
    (venv / "trace").touch()
    if harm in ("disk", "other"):
        said = "No space left" if harm == "disk" else "odd thing"
        setup(f"{CHANGES}\n{FAILS.format('-e*', said)}", status=1)
    elif harm == "interrupt":
        said, _ = setup(f'{CHANGES}\ncase "$*" in *"-e .") kill -INT $PPID;; esac', status=1)
        assert "Interrupted; the next start goes on" in said
    elif harm == "python":
        (venv / "bin" / "python").unlink()
    elif harm == "move":
        (venv / STAMP.name).write_text('{"torch": "cpu", "course": "/elsewhere"}')
    setup(CHANGES, *(["--torch", "gpu"] if harm == "build" else []))
    assert (venv / STAMP.name).exists()
    assert (venv / "trace").exists() == (harm in ("other", "move"))


def test_a_folder_that_is_no_environment_is_left_alone(venv: Path, setup: Setup) -> None:
    (venv / STAMP.name).unlink()
    (venv / "pyvenv.cfg").unlink()
    assert "is not a virtual environment: move it away first" in setup(WELL, status=1)[0]


def test_a_full_disk_is_said_before_anything_is_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(setup_env, "run", lambda *_: "")  # nothing starts, nothing is touched
    monkeypatch.setattr(shutil, "disk_usage", lambda _: type("Usage", (), {"free": 1e8}))
    with pytest.raises(SystemExit, match=r"too full: it has 0\.1 GB free, \d are needed"):
        setup_env.prepare([])


def test_pip_hands_its_index_to_uv_and_says_that_there_is_no_network(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in [("CONFIG_FILE", "/dev/null"), ("FIND_LINKS", ""), ("RETRIES", "0")]:
        monkeypatch.setenv(f"PIP_{name}", value)
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.delenv("PIP_NO_INDEX", raising=False)
    assert setup_env.pip_settings()["UV_DEFAULT_INDEX"].endswith(":9/simple")
    with pytest.raises(SystemExit, match="no way to the package index"):
        setup_env.run(sys.executable, "-m", "pip", "download", "--no-deps", "uv==0.0.0")


def test_newest_suitable_python_is_taken_and_an_old_one_named(tmp_path: Path) -> None:
    def chosen(**env: str) -> str:
        command = ["/bin/sh", str(ROOT / "tools" / "setup.sh"), "--torch", "cpu"]
        env = {"PATH": str(tmp_path), **env}
        done = subprocess.run(command, capture_output=True, text=True, env=env)
        return done.stdout or f"{done.returncode} {done.stderr}"

    assert chosen().startswith("1 No suitable Python was found.\n")
    program(tmp_path / "python3", 'case "$2" in *exit*) exit 1;; *) echo 3.9.18;; esac')
    assert chosen().startswith("1 No suitable Python was found (python3 is Python 3.9.18).\n")
    program(tmp_path / "python3.14", "exit 127")  # a version manager's stand-in
    program(tmp_path / "python3.13", 'test "$1" = -c || echo chosen "$@"')
    assert chosen() == "chosen -m tools.setup_env --torch cpu\n"
    assert chosen(PYTHON="python3").startswith("1 PYTHON=python3 cannot be used. ")
