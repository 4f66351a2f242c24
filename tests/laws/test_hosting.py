"""Files that hosts read obey their published schema, and starts nothing but what is tested here."""

import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from book import contents, handouts
from course_utils.environment import ROOT

WORKFLOWS = (".github/workflows/check.yml", ".github/workflows/book.yml")
CONTAINER = ".devcontainer/devcontainer.json"  # no package brings its schema
PUBLISHED = {  # by the schema's name in the package check-jsonschema, which needs no network
    "github-workflows": WORKFLOWS,
    "gitlab-ci": (".gitlab-ci.yml",),
    "citation-file-format": ("CITATION.cff",),
}


def parsed(name: str) -> Any:
    """Return a file's data; JSON with comments is YAML once these are gone."""
    text = (ROOT / name).read_text(encoding="utf-8")
    return yaml.safe_load(re.sub(r"^\s*//.*", "", text, flags=re.MULTILINE))


def values(part: Any, keys: str, key: str = "") -> Iterator[str]:
    """Find the lines that a file has under some keys, at any depth."""
    if isinstance(part, dict):
        for name, inner in part.items():
            yield from values(inner, keys, str(name))
    elif isinstance(part, list):
        for inner in part:
            yield from values(inner, keys, key)
    elif re.fullmatch(keys, key):
        yield from str(part).splitlines()


@pytest.mark.thorough
@pytest.mark.parametrize("schema", PUBLISHED)
def test_files_obey_their_published_schema(schema: str) -> None:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}"]
    files = PUBLISHED[schema]
    done = subprocess.run([*command, *files], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", [CONTAINER, *WORKFLOWS, ".gitlab-ci.yml"])
def test_hosts_run_only_make_targets_and_ci_run(name: str) -> None:
    targets = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    allowed = re.compile(rf"\.ci/run|make ({'|'.join(targets)})( [A-Z]+=\S+)*")
    found = list(values(parsed(name), r"run|script|\w+Command"))
    assert found
    assert [one for one in found if not allowed.fullmatch(one)] == []
    assert "ot run " in (ROOT / name).read_text("utf-8")[:300]


def test_container_is_json_and_every_host_takes_the_same_image() -> None:
    lines = (ROOT / CONTAINER).read_text("utf-8").splitlines()
    image = json.loads("\n".join(line for line in lines if not line.startswith("//")))["image"]
    jobs = [job for name in WORKFLOWS for job in parsed(name)["jobs"].values()]
    assert {job["container"] for job in jobs} == {image}
    assert parsed(".gitlab-ci.yml")["default"]["image"] == image


def test_the_only_code_of_others_checks_out_and_publishes_where_colab_reads() -> None:
    used = [one for name in WORKFLOWS for one in values(parsed(name), "uses")]
    assert used == ["actions/checkout@v4", "actions/checkout@v4", "peaceiris/actions-gh-pages@v4"]
    (branch,) = values(parsed(WORKFLOWS[1]), "publish_branch")
    settings = {"github": "", "options": {"launch": {"colab_url": ""}}}
    assert f"/blob/{branch}/colab/" in handouts.colab_address(settings, "notebooks/a")


def test_citation_is_of_this_version_licence_title_and_authors() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    cited, book = parsed("CITATION.cff"), contents.project(ROOT)
    assert cited["version"] == project["version"]
    assert cited["license"] == project["license"].split(" AND ")
    assert (cited["title"], cited["authors"]) == (book["title"], book["authors"])
    assert all(one["name"] in (ROOT / "LICENSE").read_text("utf-8") for one in book["authors"])
