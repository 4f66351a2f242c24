"""The files that say what is installed agree with each other."""

import json
import re
from importlib.metadata import PackageNotFoundError, version

import yaml

from course_utils.environment import NEWEST, OLDEST, ROOT, read_pins

EXTRAS = ("test", "book", "grade", "bench")
EXACT = re.compile(r"([\w.-]+)==([\w.]+)(?: ; (.*))?")


def test_conda_pins_what_pyproject_pins() -> None:
    conda = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))["dependencies"]
    own = dict(line.split("=") for line in conda if isinstance(line, str) and line != "pip")
    assert OLDEST <= tuple(map(int, own.pop("python").split("."))) <= NEWEST
    assert "pytorch" not in own  # it may bring CUDA; triton: the course's own installation does
    names = {"pytorch-cpu": "torch", "matplotlib-base": "matplotlib", "seaborn-base": "seaborn"}
    pins = {name: pin for name, pin in read_pins(ROOT).items() if name != "triton"}
    assert {names.get(name, name): pin for name, pin in own.items()} == pins
    assert conda[-1] == {"pip": ["-e ."]}


def test_compiled_file_holds_every_pin_and_is_what_is_installed() -> None:
    lines = (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
    exact = [EXACT.fullmatch(line) for line in lines if not line.startswith("#")]
    assert None not in exact  # no address, no option, no local build such as +cpu
    compiled = {(match[1], match[2]) for match in exact if match}
    names = {name for name, _ in compiled}
    assert not any(name.startswith(("nvidia-", "cuda-")) for name in names)
    for name, pin in read_pins(ROOT, *EXTRAS).items():
        assert (name.lower(), pin) in compiled
    differing = []
    for name in names:
        try:
            installed = (name, version(name).partition("+")[0])
        except PackageNotFoundError:  # for another system
            continue
        differing += [] if installed in compiled else [installed]
    assert differing == []


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
    extra = set(read_pins(ROOT, *EXTRAS)) - set(read_pins(ROOT))
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
