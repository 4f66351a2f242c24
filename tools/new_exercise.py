"""Begin an exercise: write its files with the reference's signature, ready to be filled in.

    python -m tools.new_exercise NAME CHAPTER      e.g. repeat_kv 08

NAME is a public function of the package. Written are the exercise's file, with the reference as
the right answer and three cases; one right way; and its cells in the chapter's source, before the
section *Yours*. Nothing that exists is overwritten. `python -m tools.check_exercise NAME` says
what is still missing.
"""

import argparse
import ast
import importlib
import inspect
import re
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

from course_utils.environment import ROOT
from tools.notebooks.files import sources_by_number

HOMES = (
    "attention",
    "positions",
    "models",
    "data",
    "measure",
    "interpretability",
    "serving",
    "clinic",
)
BEFORE = r'^# %% \[markdown\].*\n(r?"""\n|# )## (Yours|Recap)'  # where an exercise is added
STUB = """{quotes}Exercise: TODO, in a few words.{quotes}

from {home} import {name}
from course_utils.checking.exercise import case, exercise

RIGHT = {quotes}
{right}
{quotes}

EXERCISE = exercise(
    {name},
    right=RIGHT,
    asks="TODO: the task, in one sentence.",
    minutes=10,
    difficulty=2,
    importance=3,
    cases=(
        case("small", {sizes}),
        case("other sizes", {others}),
        case("float32", {sizes}, dtype="float32"),
    ),
    mistakes=(),  # mistake("its name", "what is wrong, and a question", "its line")
    hints=(
        "TODO: a nudge.",
    ),
)
"""
CELLS = """# %% [markdown]
r{quotes}
### Exercise: TODO

*Difficulty · importance · minutes*

TODO: the task of `{signature}`.
{quotes}


# %% exercise="{name}"
def {signature}:
    ### BEGIN SOLUTION: TODO, what to do
{body}
    ### END SOLUTION


# %%
check("{name}", {name})

"""


def reference(name: str) -> tuple[str, Callable[..., Any]]:
    """Return where the package exports a function, and the function.

    Raises:
        LookupError: No part of the package exports it.
    """
    for home in (f"course_utils.{part}" for part in HOMES):
        if inspect.isfunction(found := getattr(importlib.import_module(home), name, None)):
            return home, found
    raise LookupError(f"{name} must be a public function of one of {', '.join(HOMES)}")


def written(function: Callable[..., Any]) -> ast.FunctionDef:
    """Return a function's source without annotations, docstring and the checks of arguments."""
    (found,) = ast.parse(textwrap.dedent(inspect.getsource(function))).body
    assert isinstance(found, ast.FunctionDef)
    found.decorator_list, found.returns = [], None
    for one in ast.walk(found.args):
        if isinstance(one, ast.arg):
            one.annotation = None
    lines = found.body[ast.get_docstring(found) is not None :]
    found.body = [line for line in lines if not ast.unparse(line).startswith("check_")]
    return found


def sizes(function: Callable[..., Any], least: int) -> str:
    """Return what a case must say: a size for each axis, all different, and other arguments."""
    given = inspect.signature(function, eval_str=True).parameters
    shapes = [kind.dim_str for one in given.values() for kind in _arrays(one.annotation)]
    axes = dict.fromkeys(re.findall(r"(?<![\w*])[A-Za-z]\w*", " ".join(shapes)))
    others = [
        f'{name}="TODO"'
        for name, one in given.items()
        if one.default is one.empty and not _arrays(one.annotation)
    ]
    return ", ".join([*(f"{axis}={size}" for size, axis in enumerate(axes, least)), *others])


def _arrays(annotation: Any) -> list[Any]:
    return [kind for kind in (annotation, *get_args(annotation)) if hasattr(kind, "dim_str")]


def texts(name: str, chapter: str) -> dict[Path, str]:
    """Return what is to be in each file.

    Raises:
        LookupError: There is no such function or chapter.
        FileExistsError: The exercise exists.
    """
    home, function = reference(name)
    folders = [*(ROOT / "course_utils" / "exercises").glob(f"ch{chapter}_*")]
    source = sources_by_number(ROOT).get(chapter)
    if not folders or source is None:
        raise LookupError(f"there is no chapter {chapter}")
    file = folders[0] / f"{name}.py"
    if file.exists():
        raise FileExistsError(f"{file.relative_to(ROOT)} exists")
    tree = written(function)
    signature = f"{name}({ast.unparse(tree.args)})"
    body = textwrap.indent("\n".join(map(ast.unparse, tree.body)), "    ")
    filled = {
        "name": name, "home": home, "signature": signature, "body": body,
        "right": ast.unparse(tree), "sizes": sizes(function, 2), "others": sizes(function, 3),
        "quotes": '"' * 3,
    }  # fmt: skip
    chapter_text = source.read_text(encoding="utf-8")
    at = re.search(BEFORE, chapter_text, re.MULTILINE)
    end = at.start() if at else len(chapter_text)
    changed = chapter_text[:end] + CELLS.format(**filled) + chapter_text[end:]
    return {file: STUB.format(**filled), source: changed}


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("name", help="a public function of the package")
    parser.add_argument("chapter", help="its number")
    options = parser.parse_args()
    try:
        made = texts(options.name, options.chapter.zfill(2))
    except (LookupError, FileExistsError) as error:
        parser.error(str(error.args[0]))
    for path, text in made.items():
        path.write_text(text, encoding="utf-8")
        print(f"{path.relative_to(ROOT)}: fill in what says TODO")
    print(f"then: python -m tools.check_exercise {options.name}")


if __name__ == "__main__":
    main()
