"""README and CONTRIBUTING speak of what is there."""

import re
import subprocess

import pytest

from course_utils.environment import ROOT

DOCUMENTS = ("README.md", "CONTRIBUTING.md")
PATH = re.compile(r"`((?:[\w.-]+/)+[\w.-]*|[\w-]+\.(?:py|toml|yml|txt|md))`")


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def test_every_link_leads_somewhere() -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]+)\)", "".join(map(text, DOCUMENTS)))
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_path_that_is_named_exists(document: str) -> None:
    patterns = ("NN_", "NAME")
    named = [path for path in PATH.findall(text(document)) if not any(p in path for p in patterns)]
    assert len(named) > 5
    assert [path for path in named if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_command_is_a_target(document: str) -> None:
    targets = re.findall(r"^([a-z]+):", text("Makefile"), re.MULTILINE)
    named = set(re.findall(r"\bmake ([a-z]+)\b", " ".join(re.findall(r"`[^`]+`", text(document)))))
    assert named
    assert named <= set(targets)


def test_map_of_chapters_is_true() -> None:
    linked = re.findall(
        r"^\| (\d\d) \| \[.*\]\(notebooks/\1_\w+\.ipynb\) \|$", text("README.md"), re.M
    )
    built = {path.name[:2] for path in (ROOT / "notebooks").glob("*.ipynb")}
    assert ["00", *linked] == sorted(built)


def test_what_holds_a_promise_exists() -> None:
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", text("CONTRIBUTING.md"))
    assert len(named) > 20
    assert [one for one in named if f"\ndef {one[1]}(" not in text(one[0])] == []


def test_settings_of_make_learn_reach_what_it_starts() -> None:
    settings = ["BROWSER=none", "PORT=9000", "PYTHON=/my/python3.12", "TORCH=gpu"]
    rows = re.findall(r"^\| `make learn (\w+)=", text("README.md"), re.MULTILINE)
    assert rows == [one.partition("=")[0] for one in settings]
    said = subprocess.run(
        ["make", "-n", "learn", *settings], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    assert '--torch "gpu" && ' in said
    assert '--browser "none" --port "9000"' in said
