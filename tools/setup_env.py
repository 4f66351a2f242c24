"""Make `.venv` and install the pinned packages, or find in a moment that all of it is there.

Run from the course's folder, with nothing but the standard library: `python -m tools.setup_env`.
"""

from __future__ import annotations  # an old Python has to get as far as the sentence in main()

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from course_utils.environment import (
    NEWEST,
    OLDEST,
    ROOT,
    STAMP,
    fault,
    fingerprint,
    minor,
    probe,
    read_stamp,
    venv_python,
)
from tools import setup_pip
from tools.setup_pip import SetupError

NEEDED_GB = {"cpu": 3, "gpu": 10}
TO_FILL_UP_GB = 1


def check_room(root: Path, needed: int) -> None:
    """Raise SetupError unless the folder can be written and its disk has `needed` GB free."""
    try:
        with tempfile.TemporaryFile(dir=root):
            pass
    except OSError as error:
        raise SetupError(
            f"This folder cannot be written ({error.strerror}): {root}\n"
            "Copy the course to a folder of your own and start again there."
        ) from error
    free = shutil.disk_usage(root).free / 1e9
    if free < needed:
        raise SetupError(
            f"The disk is too full: the course needs about {needed} GB, {free:.1f} GB are free.\n"
            "Make room, or move the course to another disk, and start again."
        )


def make_venv(venv: Path) -> None:
    """Make the virtual environment afresh with the Python that runs this."""
    if venv.exists() and any(venv.iterdir()) and not (venv / "pyvenv.cfg").exists():
        raise SetupError(f"{venv} is there but is no virtual environment: move it away first.")
    command = [sys.executable, "-m", "venv", "--clear", str(venv)]
    made = subprocess.run(command, capture_output=True, text=True)
    said = made.stdout + made.stderr
    if made.returncode and ("ensurepip" in said or "No module named venv" in said):
        raise SetupError(
            f"This Python came without its `venv` module: {sys.executable}\n"
            f"On Debian and Ubuntu: sudo apt install python{sys.version_info[0]}."
            f"{sys.version_info[1]}-venv\nThen start again."
        )
    if made.returncode:
        raise SetupError(setup_pip.explain(said) or f"{venv} could not be made:\n{said.strip()}")


def asked_python() -> tuple[int, ...] | None:
    """Return the version of the Python that PYTHON names, None where it names none."""
    return minor(platform.python_version()) if os.environ.get("PYTHON") else None


def reusable(venv: Path, torch: str) -> bool:
    """Return whether an incomplete `.venv` can be filled up; otherwise it is made afresh."""
    found = probe(venv_python(venv), ["pip"])
    if found is None or found["versions"]["pip"] is None:
        return False
    version, stamp = minor(found["python"]), read_stamp(venv)
    return (
        OLDEST <= version <= NEWEST
        and version == (asked_python() or version)
        and version == minor(stamp.get("python", found["python"]))
        and torch == stamp.get("torch", "cpu")
    )


def prepare(root: Path, extras: tuple[str, ...] = (), torch: str | None = None) -> None:
    """Bring `.venv` to what pyproject.toml asks for, doing only what is missing.

    Args:
        root: The folder of the course.
        extras: The optional groups wanted besides the learner's packages.
        torch: "cpu", "gpu", or None for the build that is there (cpu at first).

    Raises:
        SetupError: With a sentence that says what to do.
    """
    venv = root / ".venv"
    stamp = read_stamp(venv)
    reason = fault(root, extras, torch)
    if reason is None and asked_python() not in (None, minor(stamp["python"])):
        reason = "PYTHON names another version"
    if reason is None:
        return
    torch = torch or stamp.get("torch", "cpu")
    extras = tuple(sorted({*extras, *stamp.get("extras", ())}))
    fill_up = reusable(venv, torch)
    check_room(root, TO_FILL_UP_GB if fill_up else NEEDED_GB[torch])
    print(f"Preparing .venv: {reason}.", flush=True)
    if not fill_up:
        make_venv(venv)
    (venv / STAMP).unlink(missing_ok=True)
    print("Installing the packages; the first time this takes some minutes.", flush=True)
    setup_pip.install(root, venv_python(venv), extras, torch)
    write_stamp(root, extras, torch)


def write_stamp(root: Path, extras: tuple[str, ...], torch: str) -> None:
    """Write down that the installation is complete, if it is."""
    venv = root / ".venv"
    found = probe(venv_python(venv), [])
    done = {
        "pins": fingerprint(root),
        "python": found and found["python"],
        "extras": extras,
        "torch": torch,
    }
    (venv / STAMP).write_text(json.dumps(done, indent=1) + "\n", encoding="utf-8")
    left = fault(root, extras, torch)
    if left:
        (venv / STAMP).unlink()
        raise SetupError(f".venv was installed, and still {left}. Remove .venv and start again.")


def main(arguments: list[str] | None = None) -> int:
    """Run from the command line; the exit status is 1 where a sentence says what is wrong."""
    if not OLDEST <= sys.version_info[:2] <= NEWEST:
        print(f"The course needs Python 3.11 to 3.14; this is {platform.python_version()}.")
        return 1
    parser = argparse.ArgumentParser(description="Make .venv and install the pinned packages.")
    parser.add_argument("--extras", default="", help="groups of pyproject.toml: test,book")
    parser.add_argument("--torch", default="", choices=["", "cpu", "gpu"], help="which build")
    given = parser.parse_args(arguments)
    try:
        prepare(ROOT, tuple(filter(None, given.extras.split(","))), given.torch or None)
    except SetupError as error:
        print(f"\n{error}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"\n{setup_pip.explain(str(error)) or error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nInterrupted; the next start goes on from here.", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
