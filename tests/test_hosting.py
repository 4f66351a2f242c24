"""What hosts read obeys its published schema, and starts nothing but what is tested here."""

import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from course_utils.environment import ROOT

CONTAINER = ".devcontainer/devcontainer.json"
PUBLISHED = {  # file: the schema's name in the package check-jsonschema, which needs no network
    ".github/workflows/check.yml": "github-workflows",
    ".github/workflows/book.yml": "github-workflows",
    ".gitlab-ci.yml": "gitlab-ci",
    "CITATION.cff": "citation-file-format",
}


def parsed(name: str) -> Any:
    """Return a file's data; JSON with comments is YAML once these are gone."""
    text = (ROOT / name).read_text(encoding="utf-8")
    return yaml.safe_load(re.sub(r"^\s*//.*", "", text, flags=re.MULTILINE))


def commands(part: Any, key: str = "") -> Iterator[str]:
    """Find what a file tells its host to run."""
    if isinstance(part, dict):
        for name, inner in part.items():
            yield from commands(inner, str(name))
    elif isinstance(part, list):
        for inner in part:
            yield from commands(inner, key)
    elif key in ("run", "script") or key.endswith("Command"):
        yield from str(part).splitlines()


@pytest.mark.thorough
@pytest.mark.parametrize(("name", "schema"), PUBLISHED.items())
def test_file_obeys_its_published_schema(name: str, schema: str) -> None:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}"]
    done = subprocess.run([*command, name], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", [CONTAINER, *list(PUBLISHED)[:3]])
def test_hosts_run_only_make_targets_and_ci_run(name: str) -> None:
    targets = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    allowed = re.compile(rf"\.ci/run|make ({'|'.join(targets)})( [A-Z]+=\S+)*")
    found = list(commands(parsed(name)))
    assert found
    assert [one for one in found if not allowed.fullmatch(one)] == []
    assert "ot run " in (ROOT / name).read_text("utf-8")[:300]


def test_container_is_json_and_every_host_takes_the_same_image() -> None:
    lines = (ROOT / CONTAINER).read_text("utf-8").splitlines()
    image = json.loads("\n".join(line for line in lines if not line.startswith("//")))["image"]
    jobs = [job for name in list(PUBLISHED)[:2] for job in parsed(name)["jobs"].values()]
    assert {job["container"] for job in jobs} == {image}
    assert parsed(".gitlab-ci.yml")["default"]["image"] == image


def test_citation_is_of_this_version_and_licence() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    cited = parsed("CITATION.cff")
    assert cited["version"] == project["version"]
    assert cited["license"] == project["license"].split(" AND ")
