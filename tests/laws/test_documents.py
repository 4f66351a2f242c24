"""README and CONTRIBUTING speak of what is there."""

import ast
import re
import subprocess

import pytest

from course_utils.environment import ROOT

DOCUMENTS = ("README.md", "AGENTS.md", "CONTRIBUTING.md", "book/tested.md")
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
    made = (".venv/", "work/")  # by `make install` and `make learn`
    kept = [path for path in named if not path.startswith(made)]
    assert [path for path in kept if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_command_is_a_target(document: str) -> None:
    targets = re.findall(r"^([a-z-]+):", text("Makefile"), re.MULTILINE)
    named = set(re.findall(r"\bmake ([a-z-]+)\b", " ".join(re.findall(r"`[^`]+`", text(document)))))
    assert named
    assert named <= set(targets)


def test_map_of_chapters_is_true() -> None:
    linked = re.findall(
        r"^\| (\d\d) \| \[.*\]\(notebooks/\1_\w+\.ipynb\) \|$", text("README.md"), re.M
    )
    built = {path.name[:2] for path in (ROOT / "notebooks").glob("*.ipynb")}
    assert ["00", *linked] == sorted(built)


def test_what_holds_a_promise_is_a_test_that_make_test_runs() -> None:
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", text("book/tested.md"))
    assert len(named) > 20
    for file, name in named:
        body = ast.parse(text(file)).body
        (test,) = (one for one in body if isinstance(one, ast.FunctionDef) and one.name == name)
        marks = "\n".join(map(ast.unparse, [*body, *test.decorator_list]))
        assert not re.search(r"(?m)^(pytestmark = .*)?pytest\.mark\.(benchmark|skip)\b", marks)


def made(*command: str, more: str = "") -> str:
    """Return what a make command would run; rules can be added."""
    make = ["make", "-s", "-f", "Makefile", "-f", "-", *command]
    done = subprocess.run(make, cwd=ROOT, input=more, capture_output=True, text=True, check=True)
    return done.stdout


def test_settings_of_make_learn_reach_what_it_starts() -> None:
    settings = ["BROWSER=none", "PORT=9000", "PYTHON=/my/python3.12", "TORCH=gpu", "MODEL=none"]
    rows = re.findall(r"^\| `make learn (\w+)=", text("README.md"), re.MULTILINE)
    assert rows == [one.partition("=")[0] for one in settings]
    said = made("-n", "learn", *settings)
    assert '--torch "gpu" --model "none" && ' in said
    assert '--browser "none" --port "9000"' in said
    assert made("show", *settings, more="show:\n\t@echo $$PYTHON\n") == "/my/python3.12\n"


def test_other_commands_start_what_readme_says() -> None:
    serve = made("-n", "serve", "EDITION=instructor")
    assert "book.build --edition instructor\n" in serve
    assert "http.server --bind 127.0.0.1 --directory _build/html-instructor 8000\n" in serve
    assert "--directory _build/html 9000\n" in made("-n", "serve", "PORT=9000")
    on_two, older, oldest, tests = made("-n", "repeat", "SEED=7").splitlines()[-4:]
    assert all("--nbval solutions" in notebooks for notebooks in (on_two, older, oldest))
    assert on_two.startswith("NOTEBOOK_THREADS=2 ")
    assert older.startswith("ATEN_CPU_CAPABILITY=avx2 ")
    assert oldest.startswith("ATEN_CPU_CAPABILITY=default ")
    assert tests.endswith("--random-order-seed=7")
