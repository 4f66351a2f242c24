"""Run the learner's notebooks where the course's wheel is installed and the repository is not.

    python -m tools.alone -p tools.nbval_kernels --nbval-lax

The wheel is what Colab and a hub install. It is installed in a new environment, the notebooks are
copied to an empty folder, and pytest, with the options given, runs them there with its kernel.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import venv
from functools import partial
from pathlib import Path

from course_utils.environment import ROOT, VENV, VENV_PYTHON, read_stamp
from tools import setup_env

KERNEL = "course-wheel"
_SHOW = """\
import importlib.util, course_utils
assert importlib.util.find_spec("tools") is None, "the repository can be imported"
print(course_utils.__file__)"""


def build_wheel(folder: Path) -> Path:
    """Build the course's wheel in a folder, and return its path."""
    setup_env.run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder))
    return next(folder.glob("*.whl"))


def install_wheel(folder: Path) -> Path:
    """Make an environment in an empty folder, install the wheel, and return the folder.

    Raises:
        RuntimeError: The environment's Python finds another course.
    """
    venv.create(folder, symlinks=os.name != "nt")
    python = str(folder / VENV_PYTHON.relative_to(VENV))
    wheel = str(build_wheel(folder))
    uv = setup_env.uv_into(python)
    install = partial(setup_env.run, *uv, env=setup_env.pip_settings())
    build = read_stamp().get("torch", "cpu")
    try:  # what `make install` has fetched is in uv's cache
        setup_env.install_all(partial(install, "--offline"), build, wheel)
    except SystemExit:
        setup_env.install_all(install, build, wheel)
    found = subprocess.run([python, "-c", _SHOW], cwd=folder, capture_output=True, text=True)
    if not found.stdout.startswith(str(folder)):
        raise RuntimeError(f"this is not the wheel's course: {found.stdout}{found.stderr}")
    setup_env.run(python, "-m", "ipykernel", "install", "--sys-prefix", "--name", KERNEL)
    return folder


def main() -> int:
    """Run from the command line; the exit status is pytest's."""
    with tempfile.TemporaryDirectory(prefix="attention-course-") as scratch:
        folder = Path(scratch).resolve()
        installed = install_wheel(folder / "environment")
        (folder / "notebooks").mkdir()
        for notebook in (ROOT / "notebooks").glob("*.ipynb"):
            shutil.copy(notebook, folder / "notebooks")
        environment = {**os.environ, "JUPYTER_PATH": str(installed / "share" / "jupyter")}
        command = [sys.executable, "-m", "pytest", f"--nbval-kernel-name={KERNEL}", *sys.argv[1:]]
        return subprocess.run(command, cwd=folder / "notebooks", env=environment).returncode


if __name__ == "__main__":
    sys.exit(main())
