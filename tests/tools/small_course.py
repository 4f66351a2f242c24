"""A course of a few lines, for the tests of its builder."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import nbformat
import pytest

from tools.build_notebooks import main
from tools.notebooks.source import Asked

SIGNATURES = {"twice": "twice(x, by=2) -> y", "norm": "norm(x)"}


def asked_of(name: str) -> Asked:
    if name not in SIGNATURES:
        raise KeyError(f"there is none called {name}; near: twice")
    return Asked(SIGNATURES[name], len(name), difficulty=2, importance=3, minutes=10)


SMALL = '''# %% [markdown]
# # Double a number
#
# *Difficulty · importance · minutes*

# %%
def check(name, answer):
    return f"{name}: Passed"


# %% exercise="twice"
def twice(x, by=2):
    """Double x."""
    ### BEGIN SOLUTION: multiply x by the factor
    return by * x
    ### END SOLUTION


# %%
check("twice", twice)

# %% tags=["solution"]
print("twice", twice(21))
'''


class Result(NamedTuple):
    status: int
    out: str
    err: str


class Course:
    """A course of one or more small chapters in a folder of its own."""

    def __init__(self, root: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.root = root
        self.capsys = capsys

    def write(self, text: str, name: str = "03_small") -> None:
        path = self.root / "solutions" / f"{name}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def build(self, *arguments: str) -> Result:
        self.capsys.readouterr()
        status = main(["--root", str(self.root), *arguments], asked_of)
        return Result(status, *self.capsys.readouterr())

    def path(self, kind: str, name: str = "03_small") -> Path:
        return self.root / kind / f"{name}.ipynb"

    def cells(self, kind: str, name: str = "03_small") -> list[nbformat.NotebookNode]:
        return nbformat.read(self.path(kind, name), as_version=4).cells

    def edit(self, kind: str, change: Callable[[nbformat.NotebookNode], object]) -> None:
        """Change a built notebook as a person in an editor would."""
        notebook = nbformat.read(self.path(kind), as_version=4)
        change(notebook)
        nbformat.write(notebook, self.path(kind))
