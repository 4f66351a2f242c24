"""Run the learner's notebooks where there is the course's wheel and nothing else of the repository.

    python -m tools.alone -p tools.nbval_kernels --nbval-lax

The wheel is what Colab and a hub install. It is built and unpacked, the notebooks are copied to an
empty folder, and pytest runs them there with the options given.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from course_utils.environment import ROOT

# The environment that runs this has the repository on its path; what is started below has not.
_HIDE = f"import sys\nsys.path[:] = [part for part in sys.path if part != {str(ROOT)!r}]\n"
_SHOW = """\
import importlib.util, course_utils
assert importlib.util.find_spec("tools") is None, "the repository can be imported"
print(course_utils.__file__)"""
# Only pytest itself gets the repository back, last on its path, for the plugin in `tools`.
_PYTEST = f"import pytest, sys; sys.path.append({str(ROOT)!r}); sys.exit(pytest.main())"


def unpack_wheel(folder: Path) -> dict[str, str]:
    """Build the wheel, unpack it in a folder, and return an environment in which only that is seen.

    Raises:
        RuntimeError: A Python started in that environment finds another course.
    """
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True)
    inside = folder / "wheel"
    with zipfile.ZipFile(next(folder.glob("*.whl"))) as wheel:
        wheel.extractall(inside)
    (inside / "sitecustomize.py").write_text(_HIDE, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(inside)}
    look = [sys.executable, "-c", _SHOW]
    found = subprocess.run(look, cwd=folder, env=environment, capture_output=True, text=True)
    if not found.stdout.startswith(str(inside)):
        raise RuntimeError(f"this is not the wheel's course: {found.stdout}{found.stderr}")
    return environment


def main() -> int:
    """Run from the command line; the exit status is pytest's."""
    with tempfile.TemporaryDirectory(prefix="attention-course-") as scratch:
        folder = Path(scratch).resolve()
        environment = unpack_wheel(folder)
        (folder / "notebooks").mkdir()
        for notebook in (ROOT / "notebooks").glob("*.ipynb"):
            shutil.copy(notebook, folder / "notebooks")
        command = [sys.executable, "-c", _PYTEST, *sys.argv[1:]]
        return subprocess.run(command, cwd=folder / "notebooks", env=environment).returncode


if __name__ == "__main__":
    sys.exit(main())
