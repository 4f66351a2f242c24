"""The files that say what is installed agree with each other."""

import json
import re
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version

import yaml

from course_utils.environment import NEWEST, OLDEST, ROOT, read_pins

EXACT = re.compile(r"([\w.-]+)==([\w.]+)(?: ; (.*))?")


def test_conda_pins_what_pyproject_pins() -> None:
    conda = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))["dependencies"]
    own = dict(line.split("=") for line in conda if isinstance(line, str) and line != "pip")
    assert OLDEST <= tuple(map(int, own.pop("python").split("."))) <= NEWEST
    # Not `pytorch`, which may bring CUDA; triton comes with the course's own installation.
    names = {"pytorch-cpu": "torch", "matplotlib-base": "matplotlib", "seaborn-base": "seaborn"}
    pins = {name: pin for name, pin in read_pins(ROOT).items() if name != "triton"}
    assert {names.get(name, name): pin for name, pin in own.items()} == pins
    assert conda[-1] == {"pip": ["-e ."]}


def test_compiled_file_holds_every_pin_and_is_what_is_installed() -> None:
    lines = (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
    exact = [EXACT.fullmatch(line) for line in lines if not line.startswith("#")]
    assert None not in exact  # no address, no option, no local build such as +cpu
    compiled = {(match[1], match[2]) for match in exact if match}
    assert not any(name.startswith(("nvidia-", "cuda-")) for name, _ in compiled)
    pins = read_pins(ROOT, "test", "book", "grade", "bench")
    assert compiled >= {(name.lower(), pin) for name, pin in pins.items()}
    for name, _ in compiled:
        with suppress(PackageNotFoundError):  # it is for another system
            assert (name, version(name).partition("+")[0]) in compiled


def test_node_packages_are_pinned_and_name_no_server() -> None:
    package, lock = (json.loads((ROOT / f"package{of}.json").read_text()) for of in ("", "-lock"))
    for name, pin in package["devDependencies"].items():
        assert re.fullmatch(r"\d+\.\d+\.\d+", pin)
        assert lock["packages"][f"node_modules/{name}"]["version"] == pin
    assert not any("resolved" in entry for entry in lock["packages"].values())
    assert "type" not in package  # with it Node.js misreads JupyterLab's own scripts below .venv
