"""The files that say what is installed agree with each other."""

import json
import re
import tomllib
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version

import yaml

from course_utils.environment import NEEDED_GB, NEWEST, NODE, OLDEST, PYTHONS, ROOT, read_pins

EXACT = re.compile(r"([\w.-]+)==([\w.]+)(?: ; (.*))?")


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


PROJECT = tomllib.loads(text("pyproject.toml"))["project"]


def test_documents_and_scripts_ask_for_the_same_python_node_and_disk() -> None:
    major, newest = NEWEST
    assert PROJECT["requires-python"] == f">={major}.{OLDEST[1]},<{major}.{newest + 1}"
    tried = re.findall(rf"python{major}\.(\d+)[ }}]", text("tools/setup.sh").partition("echo")[0])
    assert sorted(map(int, tried)) == [*range(OLDEST[1], newest + 1)]
    assert all(PYTHONS in text(name) for name in ("README.md", "book/index.md", "tools/setup.sh"))
    assert all(f"about {gb} GB" in text("README.md") for gb in NEEDED_GB.values())
    assert json.loads(text("package.json"))["engines"]["node"] == f">={NODE}"
    assert f"< {NODE})); then" in text(".ci/run")
    assert f"Node.js {NODE} or newer" in text("book/instructor/hub.md")


def test_conda_pins_what_pyproject_pins() -> None:
    conda = yaml.safe_load(text("environment.yml"))["dependencies"]
    own = dict(line.split("=") for line in conda if isinstance(line, str) and line != "pip")
    assert OLDEST <= tuple(map(int, own.pop("python").split("."))) <= NEWEST
    # Not `pytorch`, which may bring CUDA; triton comes with the course's own installation.
    names = {"pytorch-cpu": "torch", "matplotlib-base": "matplotlib", "seaborn-base": "seaborn"}
    pins = {name: pin for name, pin in read_pins(ROOT).items() if name != "triton"}
    assert {names.get(name, name): pin for name, pin in own.items()} == pins
    assert conda[-1] == {"pip": ["-e ."]}


def test_compiled_file_holds_every_pin_and_is_what_is_installed() -> None:
    lines = text("requirements.txt").splitlines()
    exact = [EXACT.fullmatch(line) for line in lines if not line.startswith("#")]
    assert None not in exact  # no address, no option, no local build such as +cpu
    compiled = {(match[1], match[2]) for match in exact if match}
    assert not any(name.startswith(("nvidia-", "cuda-")) for name, _ in compiled)
    pins = read_pins(ROOT, *PROJECT["optional-dependencies"])
    assert compiled >= {(name.lower(), pin) for name, pin in pins.items()}
    for name, _ in compiled:
        with suppress(PackageNotFoundError):  # it is for another system
            assert (name, version(name).partition("+")[0]) in compiled


def test_node_packages_are_pinned_and_name_no_server() -> None:
    package, lock = (json.loads(text(f"package{of}.json")) for of in ("", "-lock"))
    for name, pin in package["devDependencies"].items():
        assert re.fullmatch(r"\d+\.\d+\.\d+", pin)
        assert lock["packages"][f"node_modules/{name}"]["version"] == pin
    assert not any("resolved" in entry for entry in lock["packages"].values())
    assert "type" not in package  # with it Node.js misreads JupyterLab's own scripts below .venv
