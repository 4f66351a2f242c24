"""Show how the course is graded: three made-up submissions go through nbgrader and back.

    python -m tools.grade_demo                   in a folder that is thrown away
    python -m tools.grade_demo --folder DIR      in a folder to look at afterwards

Makes the assignment from a chapter's solutions notebook as it is, submits an untouched notebook, a
right one, and one with two mistakes, grades them, writes the feedback, and prints the points.

Exit status: 0 when the points are those expected, 1 when they are not or nbgrader fails.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from tools.notebooks.made import from_text, to_text

_ROOT = Path(__file__).resolve().parents[1]
CHAPTER = "05_multi_head"
MISTAKES = {
    "split_heads": "def split_heads(x, num_heads):\n"
    "    return x.reshape(x.shape[0], num_heads, x.shape[1], -1)\n",
    "mha_parameters": "def mha_parameters(d_model, num_heads, bias):\n"
    "    return 4 * d_model * d_model * num_heads\n",
}


class DemoError(Exception):
    """A step of nbgrader failed."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.grade_demo", description=(__doc__ or "").split("\n\n")[0]
    )
    parser.add_argument("--folder", type=Path, help="a new or empty folder, kept afterwards")
    folder: Path | None = parser.parse_args(argv).folder
    if folder is None:
        with tempfile.TemporaryDirectory(prefix="grade-demo-") as made:
            return demo(Path(made))
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        parser.error(f"the folder must be empty, got {folder} with something in it")
    return demo(folder.resolve())


def demo(folder: Path) -> int:
    """Grade the three submissions in an empty folder and return the exit status."""
    answers = answers_of(CHAPTER)
    try:
        course = Course(folder, CHAPTER)
        course.make()
        course.submit("untouched", {})
        course.submit("right", answers)
        course.submit("two-mistakes", answers | MISTAKES)
        course.grade()
        got = course.points()
    except DemoError as error:
        print(error, file=sys.stderr)
        return 1
    full = sum(got["right"].values())
    lost = sum(got["right"][name] for name in MISTAKES)
    wanted = {"untouched": 0.0, "right": full, "two-mistakes": full - lost}
    print(f"Chapter {CHAPTER}, {full:g} points:")
    for student, want in wanted.items():
        each = ", ".join(f"{name} {points:g}" for name, points in got[student].items())
        print(f"  {student:<13} {sum(got[student].values()):3g} (expected {want:g}): {each}")
    right = full > lost > 0 and {s: sum(p.values()) for s, p in got.items()} == wanted
    print(f"Feedback pages: {len(list(folder.glob('feedback/*/*/*.html')))}")
    return 0 if right else 1


def answers_of(chapter: str) -> dict[str, str]:
    """Return the course's own answers to a chapter's exercises."""
    text = (_ROOT / "solutions" / f"{chapter}.ipynb").read_text(encoding="utf-8")
    cells = from_text(text).cells
    return {cell.metadata["exercise"]: cell.source for cell in cells if "exercise" in cell.metadata}


def with_own_programs() -> str:
    """Return a PATH on which this Python's programs come first: nbgrader starts alembic."""
    return os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", "")))


def nbgrader(folder: Path, *command: str, **environment: str) -> None:
    """Run a step of nbgrader in its course's folder.

    Raises:
        DemoError: It failed; the message is what it said.
    """
    done = subprocess.run(
        [sys.executable, "-m", "nbgrader", *command], cwd=folder, capture_output=True, text=True,
        env={**os.environ, "PATH": with_own_programs(), **environment},
    )  # fmt: skip
    if done.returncode:
        raise DemoError(f"nbgrader {' '.join(command)} failed:\n{done.stdout}{done.stderr}")


class Course:
    """A course folder of nbgrader with one assignment, made from a chapter as it is."""

    def __init__(self, folder: Path, chapter: str) -> None:
        self.folder, self.chapter = folder, chapter

    def make(self) -> None:
        """Fill the folder and make what is handed out."""
        shutil.copy(_ROOT / "tools" / "nbgrader_config.py", self.folder)
        source = self.folder / "source" / self.chapter
        source.mkdir(parents=True)
        shutil.copy(_ROOT / "solutions" / f"{self.chapter}.ipynb", source)
        self.run("generate_assignment", self.chapter)

    def run(self, *command: str) -> None:
        """Run a step of nbgrader; a DemoError says what it said where it failed."""
        nbgrader(self.folder, *command)

    def submit(
        self,
        student: str,
        answers: dict[str, str],
        change: Callable[[list[dict[str, object]]], object] | None = None,
    ) -> None:
        """Hand in the assignment with some cells answered, and perhaps changed by hand."""
        file = f"{self.chapter}.ipynb"
        released = self.folder / "release" / self.chapter / file
        notebook = from_text(released.read_text(encoding="utf-8"))
        for cell in notebook.cells:
            cell.source = answers.get(cell.metadata.get("exercise"), cell.source)
        if change is not None:
            change(notebook.cells)
        handed_in = self.folder / "submitted" / student / self.chapter
        handed_in.mkdir(parents=True)
        (handed_in / file).write_text(to_text(notebook), encoding="utf-8")

    def grade(self) -> None:
        """Grade all that was handed in and write the feedback."""
        self.run("autograde", self.chapter)
        self.run("generate_feedback", self.chapter)

    def points(self) -> dict[str, dict[str, float]]:
        """Return each student's points, by exercise."""
        from nbgrader.api import Gradebook  # type: ignore[import-untyped]

        with Gradebook(f"sqlite:///{self.folder / 'gradebook.db'}") as book:
            return {
                submission.student.id: dict(_points(submission.notebooks))
                for submission in book.assignment_submissions(self.chapter)
            }


def _points(notebooks: Iterable[object]) -> Iterable[tuple[str, float]]:
    for notebook in notebooks:
        for grade in notebook.grades:  # type: ignore[attr-defined]
            yield grade.cell.name.removeprefix("check-"), grade.score


if __name__ == "__main__":
    sys.exit(main())
