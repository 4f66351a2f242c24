"""The files of `deploy/` for machines that no test starts agree with what the course pins."""

import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import yaml

from course_utils import model_file
from course_utils.environment import ROOT, read_pins
from tools import setup_env
from tools.hub_demo import SAVING

DEPLOY = ROOT / "deploy"
DOCKERFILE = (DEPLOY / "Dockerfile").read_text(encoding="utf-8")
COPIED = [
    name for line in re.findall(r"(?m)^COPY (.+) \S+$", DOCKERFILE) for name in line.split()
]  # fmt: skip


def test_dockerfile_installs_what_is_pinned() -> None:
    assert re.findall(r"\S+==\S+", DOCKERFILE) == [setup_env.UV]
    assert " -c requirements.txt . jupyterhub\n" in DOCKERFILE
    image = re.search(r"(?m)^FROM python:(\d+\.\d+)-", DOCKERFILE)
    assert image is not None
    assert f"python:{image[1]}-" in (ROOT / ".gitlab-ci.yml").read_text(encoding="utf-8")


def test_the_image_holds_one_copy_of_the_model_where_its_variable_says() -> None:
    fetch = re.search(r"(?m)^RUN XDG_CACHE_HOME=(\S+) python -m course_utils (.+)$", DOCKERFILE)
    assert fetch is not None
    assert fetch[2] == "model --convert"
    place = f"{fetch[1]}/attention-course/models/{model_file.NAME}"
    assert f"\nENV {model_file.ELSEWHERE}={place}\n" in DOCKERFILE
    assert DOCKERFILE.index(fetch[0]) < DOCKERFILE.index("\nUSER jovyan\n")  # who only reads it


def test_the_image_and_the_hub_give_memory_back_alike() -> None:
    assert dict(re.findall(r"((?:MALLOC|OMP)_\w+)=(\d+)", DOCKERFILE)) == SAVING


def test_values_name_the_image_and_the_hub_of_the_pins() -> None:
    text = (DEPLOY / "values.yaml").read_text(encoding="utf-8")
    values = yaml.safe_load(text)
    image = values["singleuser"]["image"]
    assert f"{image['name']}:{image['tag']} " in DOCKERFILE
    version = re.search(r'(?m)^version = "(.+)"', (ROOT / "pyproject.toml").read_text("utf-8"))
    assert version is not None
    assert image["tag"] == version[1]
    hub = re.search(r"brings JupyterHub (\d+\.\d+)\.", text)
    assert hub is not None
    assert read_pins(ROOT, "hub")["jupyterhub"].startswith(hub[1] + ".")
    memory = re.search(r"MEMORY = (\d+) \* 2\*\*30", (DEPLOY / "walled.py").read_text("utf-8"))
    assert memory is not None
    assert values["singleuser"]["memory"]["limit"] == f"{memory[1]}G"
    assert "/opt/notebooks" in str(values["singleuser"]["lifecycleHooks"])
    assert "Not run " in text
    assert "Not built " in DOCKERFILE


def test_the_proxy_is_the_one_that_npm_pins_and_the_base_does_not_grow() -> None:
    base, hub = read_pins(ROOT), read_pins(ROOT, "hub")
    assert {name for name in hub if name not in base} == {"jupyterhub", "nbgrader"}
    assert hub["nbgrader"] == read_pins(ROOT, "grade")["nbgrader"]


def test_nothing_secret_is_in_the_folder() -> None:
    files = [path for path in DEPLOY.rglob("*") if path.is_file() and path.suffix != ".pyc"]
    names = {str(path.relative_to(DEPLOY)) for path in files}
    assert names == {
        "Dockerfile", "fork_server.py", "forked.py", "jupyter_server_config.py",
        "jupyterhub_config.py", "learner/kernels/python3/kernel.json",
        "learner/labconfig/page_config.json", "nbgrader_config.py", "templates/429.html",
        "values.yaml", "walled.py",
    }  # fmt: skip
    text = "".join((DEPLOY / name).read_text(encoding="utf-8") for name in names)
    assert not re.search(r"[0-9a-f]{32}|(?i:secret|token|password)\w* *[=:] *['\"]\w", text)


@pytest.mark.thorough
def test_what_the_image_copies_makes_a_package_without_solutions(tmp_path: Path) -> None:
    for name in COPIED:
        source, target = ROOT / name, tmp_path / "course" / name
        assert source.exists()
        target.parent.mkdir(parents=True, exist_ok=True)
        target.symlink_to(source)
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    done = subprocess.run(command, cwd=tmp_path / "course", capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (wheel,) = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert "course_utils/book/claims.yml" in names
    assert "course_utils/attention/core/split_heads.py" in names
    assert [name for name in names if "solutions/" in name] == []


@pytest.mark.parametrize("first", [("deploy",), ()])
def test_every_server_waits_ten_minutes_for_a_page_that_does_not_answer(
    first: tuple[str, ...], tmp_path: Path
) -> None:
    """A hub's, which reads `deploy` too, and a learner's own."""
    folders = (*first, "tools/jupyter", *(() if first else ("tools/jupyter/without_class",)))
    places = os.pathsep.join(str(ROOT / name) for name in folders)
    environment = os.environ | {"JUPYTER_CONFIG_PATH": places, "HOME": str(tmp_path)}
    command = [sys.executable, "-m", "jupyter", "server", "--show-config-json"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    shown = json.loads(done.stdout[done.stdout.index("{") :])
    assert shown["ServerApp"]["tornado_settings"] == {"ws_ping_timeout": 600_000}
