"""Who may import what of the package's parts, and that the test run checks the inner ones."""

import ast
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import get_args

import pytest
from jaxtyping import TypeCheckError

from course_utils import data, models, plotting
from course_utils.environment import ROOT, read_pins
from course_utils.positions.rope_table import Pairing
from course_utils.widgets.rope_clock.rope_clock import PAIRINGS
from tests.test_environment import PROJECT

COURSE = ROOT / "course_utils"
# What is tested as a whole: by laws, next to other people's code, as a site, in a browser.
WHOLE = {"laws", "peers", "book", "notebooks", "engines"}
PAGES = {
    f"widgets/test_{name}.py"
    for name in ("cases", "drives", "jupyterlab", "readable", "static_page")
}


def imported(path: Path) -> list[str]:
    """Return the modules that a file imports, and what it takes from them, as dotted names."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = path.relative_to(ROOT).parts[: -node.level] if node.level else ()
            module = ".".join([*above, *filter(None, [node.module])])
            found += [f"{module}.{alias.name}" for alias in node.names]
    return found


def private_of_others(path: Path) -> list[str]:
    """Return the private names of the course that a file takes from outside its own folder."""
    own = ".".join(path.relative_to(ROOT).parent.parts)
    taken = []
    for name in imported(path):
        package, *inner = name.split(".")
        hidden = [i for i, part in enumerate(inner, 1) if part.startswith("_") and part[1] != "_"]
        if package == "course_utils" and hidden:
            room = ".".join([package, *inner][: hidden[0]])
            taken += [name] if own != room else []
    return taken


def test_no_package_imports_what_is_private_to_another() -> None:
    found = {
        str(path.relative_to(COURSE)): taken
        for path in sorted(COURSE.rglob("*.py"))
        if (taken := private_of_others(path))
    }
    assert found == {}


@pytest.mark.parametrize(
    "call",
    [
        lambda: data.encode(3),
        lambda: plotting.headline("figure", "title"),
        lambda: models.copy_task(trained=4, longest=8.5),
    ],
)
def test_what_only_the_course_calls_is_held_to_its_annotations(call: Callable[[], object]) -> None:
    with pytest.raises(TypeCheckError):
        call()


def test_widgets_load_no_torch() -> None:
    code = "import sys; from course_utils import heatmap; heatmap([[1]]); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = done.stdout.split()
    assert "numpy" in loaded
    assert "torch" not in loaded


def test_the_clock_knows_the_pairings_of_rope() -> None:
    assert get_args(Pairing) == PAIRINGS


def test_the_course_itself_uses_no_package_that_only_tests_and_benchmarks_need() -> None:
    extra = read_pins(ROOT, *PROJECT["optional-dependencies"]).keys() - read_pins(ROOT)
    names = "|".join(extra).replace("-", "_")
    used = re.compile(rf"^\s*(from|import) ({names})\b", re.MULTILINE)
    own = [*COURSE.rglob("*.py"), *(ROOT / "solutions").glob("*.py")]
    found = {path.name for path in own if used.search(path.read_text(encoding="utf-8"))}
    assert found == {"__main__.py", "nbgrader_judge.py"}  # grading: on a cluster, in nbgrader


def mirrored(path: Path) -> bool:
    """Return whether a test file has the place and the name of a module."""
    folder, name = path.parent.relative_to(ROOT / "tests"), path.stem.removeprefix("test_")
    files = (f"{name}.py", f"_{name}.py", f"{name}/__init__.py")
    return any((root / folder / file).exists() for root in (COURSE, ROOT) for file in files)


def test_a_test_file_mirrors_a_module_that_exists_or_is_a_law() -> None:
    files = (ROOT / "tests").rglob("test_*.py")
    alone = {path.relative_to(ROOT / "tests") for path in files if not mirrored(path)}
    assert {path.as_posix() for path in alone if path.parts[0] not in WHOLE} == PAGES
