"""The files that say what is installed agree with each other."""

import json
import re
from importlib.metadata import PackageNotFoundError, version

import pytest
import yaml

from course_utils.environment import NEWEST, OLDEST, ROOT, read_pins, read_pyproject

CONDA_NAMES = {"pytorch-cpu": "torch", "matplotlib-base": "matplotlib", "seaborn-base": "seaborn"}
EXTRAS = ("test", "book", "grade", "bench")


@pytest.fixture(scope="module")
def conda() -> dict[str, str]:
    """The conda environment: name and version of each package, pip's part left out."""
    lines = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))["dependencies"]
    pairs = [line.partition("=") for line in lines if isinstance(line, str)]
    return {name: pin for name, _, pin in pairs}


@pytest.fixture(scope="module")
def constraints() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pairs = [line.split("==") for line in lines if not line.startswith("#")]
    return {re.sub(r"[-_.]+", "-", name).lower(): pin for name, pin in pairs}


def test_conda_pins_what_pyproject_pins(conda: dict[str, str]) -> None:
    own = {CONDA_NAMES.get(name, name): pin for name, pin in conda.items()}
    del own["python"], own["pip"]
    assert own == read_pins(ROOT)


def test_conda_takes_torch_without_cuda(conda: dict[str, str]) -> None:
    assert "pytorch-cpu" in conda
    assert not {"pytorch", "torch", "pytorch-gpu"} & set(conda)


def test_conda_installs_the_course_itself_and_nothing_else_by_pip() -> None:
    lines = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))["dependencies"]
    assert [line for line in lines if not isinstance(line, str)] == [{"pip": ["-e ."]}]


def test_conda_has_a_python_that_the_course_supports(conda: dict[str, str]) -> None:
    assert OLDEST <= tuple(map(int, conda["python"].split("."))) <= NEWEST
    oldest = ".".join(map(str, OLDEST))
    assert read_pyproject(ROOT)["project"]["requires-python"] == f">={oldest}"


def test_every_pin_is_exact() -> None:
    project = read_pyproject(ROOT)["project"]
    for group in (project["dependencies"], *project["optional-dependencies"].values()):
        exact = re.compile(r"[\w-]+==[\w.]+(; sys_platform == 'linux')?")
        assert [line for line in group if not exact.fullmatch(line)] == []


def test_what_is_for_linux_is_no_pin_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "darwin")
    elsewhere = read_pins(ROOT, EXTRAS)
    monkeypatch.setattr("sys.platform", "linux")
    assert set(read_pins(ROOT, EXTRAS)) - set(elsewhere) == {"triton"}


def test_constraints_hold_every_pin(constraints: dict[str, str]) -> None:
    for name, pin in read_pins(ROOT, EXTRAS).items():
        assert constraints[name.lower()] == pin, name


def test_constraints_are_what_is_installed(constraints: dict[str, str]) -> None:
    differing = {}
    for name, pin in constraints.items():
        try:
            installed = version(name).partition("+")[0]
        except PackageNotFoundError:  # for another system, or only to fetch the CPU build of torch
            continue
        if installed != pin:
            differing[name] = (pin, installed)
    assert differing == {}


def test_node_packages_are_pinned_and_name_no_server() -> None:
    package = json.loads((ROOT / "package.json").read_text(encoding="utf-8"))
    lock = json.loads((ROOT / "package-lock.json").read_text(encoding="utf-8"))
    for name, pin in package["devDependencies"].items():
        assert re.fullmatch(r"\d+\.\d+\.\d+", pin)
        assert lock["packages"][f"node_modules/{name}"]["version"] == pin
    assert not any("resolved" in entry for entry in lock["packages"].values())


def test_package_json_leaves_the_kind_of_scripts_alone() -> None:
    """With "type" here Node.js misreads JupyterLab's own scripts below .venv."""
    assert "type" not in json.loads((ROOT / "package.json").read_text(encoding="utf-8"))


def test_the_course_itself_uses_no_package_that_only_tests_and_benchmarks_need() -> None:
    extra = set(read_pins(ROOT, EXTRAS)) - set(read_pins(ROOT))
    names = "|".join(name.replace("-", "_") for name in extra)
    own = [*(ROOT / "course_utils").rglob("*.py"), *(ROOT / "solutions").glob("*.py")]
    # nbgrader's own plug-in, and what tries to import triton and says so where it is missing.
    files = [f for f in own if f.name not in ("nbgrader_judge.py", "triton_interpreter.py")]
    found = [
        (path.name, line)
        for path in files
        for line in path.read_text(encoding="utf-8").splitlines()
        if re.match(rf"\s*(from|import) ({names})\b", line)
    ]
    assert len(files) > 50
    assert found == []
