"""Print the tests that mirror what has changed since the last commit, or in it, for `make check`.

The laws on texts and on the house are always among them. All others are for `make test`.
"""

import subprocess
from pathlib import Path

from course_utils.environment import ROOT

ALWAYS = [f"tests/laws/test_{name}.py" for name in ("language", "house", "documents")]


def changed() -> list[str]:
    """Return the files that differ from the last commit; where none does, those that it changed."""
    new = _git("ls-files", "--others", "--exclude-standard")
    return [*_git("diff", "--name-only", "HEAD"), *new] or _git("diff", "--name-only", "HEAD~")


def mirror(file: str) -> str:
    """Return where the test of a Python file would be: a test's path is its module's."""
    path = Path(file)
    if path.parts[0] == "tests":
        return file
    if path.name == "__init__.py":
        path = path.parent
    folder = Path("tests", *[part for part in path.parts[:-1] if part != "course_utils"])
    return (folder / f"test_{path.stem.removeprefix('_')}.py").as_posix()


def tests() -> list[str]:
    """Return the paths of the tests, each once."""
    found = map(mirror, (file for file in changed() if file.endswith(".py")))
    there = (one for one in found if Path(one).name.startswith("test_") and (ROOT / one).exists())
    return list(dict.fromkeys([*ALWAYS, *there]))


def _git(*arguments: str) -> list[str]:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


if __name__ == "__main__":
    print(*tests())
