"""Build the notebooks of the course from their sources, or check that they are up to date.

Each chapter has one source, `solutions/NN_topic.py` (py:percent), and two notebooks made from it:

- `solutions/NN_topic.ipynb` holds the solutions and its outputs. It is executed only when its code
  changed; a change of prose keeps the outputs and takes no time.
- `notebooks/NN_topic.ipynb` is what a learner opens: regions (see `notebook_regions`) are stubs,
  cells tagged `solution` are left out, there are no outputs.

    python -m tools.build_notebooks                 build what is not up to date
    python -m tools.build_notebooks 03 --execute    build one chapter, execute it in any case
    python -m tools.build_notebooks --check         write nothing, fail on any fault
    python -m tools.build_notebooks --openings      only print when each chapter shows something

The same source gives the same bytes. What a cell's header may carry:

    # %% exercise="name"                      an exercise; the next cell is check("name", name), and
                                              the prose before holds a line that the exercise's data
                                              fill in: *Difficulty · importance · minutes*; below
                                              that prose comes what else is judged
    # %% [markdown] tags=["further"]          a heading `## N. Title` that is not on the core path:
                                              folded in the learner's notebook and on the site
    # %% tags=["solution"]                    only in the solutions notebook
    # %% tags=["nbval-ignore-output"] reason="the time varies"
    # %% mystnb={"image": {"alt": "what the figure shows"}}
    # %% guess={"name": "03.share", ...}      the cell guess("03.share"); where its answer is found
                                              stands in course_utils/guessing/question.py

Each section gets its minutes below its heading (`notebook_minutes` has the formula); where the
front has the line *Core path · further*, it becomes their sums, and the core path keeps its limits.

The prose after the cell `progress(N)` says what is next and gets the links to the pages around it;
papers named in *Go further* get theirs from the BibTeX (see `links`).

Numbers that a sentence quotes can be marked (see `shown`); the marks are in no notebook, and
--check looks each number up in the outputs.

Stored outputs carry no times, no random names of widgets and no paths, so that executing the same
code again gives the same bytes too, and `pytest --nbval` (see `nbval_kernels`) reproduces them.
Where only numbers of a cell tagged nbval-ignore-output would change, it keeps those that it had,
but for --execute, which makes everything new.

Exit status: 0 when all is well, 1 when a rule is broken, a cell fails or (with --check) a notebook
is not what its source gives, 2 for a usage error.
"""

import argparse
import functools
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from tools import shown
from tools.notebooks import guesses
from tools.notebooks.files import build, check, find_sources, sources_by_number, stray
from tools.notebooks.links import REFERENCES, end_faults, with_links
from tools.notebooks.minutes import first_seen, with_minutes
from tools.notebooks.rules import AskedOf, asked_twice, faults
from tools.notebooks.run import NotebookError
from tools.notebooks.source import Asked, Chapter, read_chapter, with_data

_ROOT = Path(__file__).resolve().parents[1]


@functools.cache
def exercise_data(name: str) -> Asked:
    """Return the data of an exercise of the course; imported late, because it imports torch."""
    from course_utils.checking.stated import also_judged
    from course_utils.exercises import find

    one = find(name)
    numbers = (one.points, one.difficulty, one.importance, one.minutes)
    return Asked(one.signature, *numbers, also_judged(one))


def main(argv: Sequence[str] | None = None, asked_of: AskedOf = exercise_data) -> int:
    """Run the command line and return the exit status."""
    parser = _parser()
    options = parser.parse_args(argv)
    root: Path = options.root.resolve()
    sources = find_sources(root)
    chosen = [path for path in sources if not options.chapters or _is_one(path, options.chapters)]
    for name in options.chapters:
        if not any(_is_one(path, [name]) for path in sources):
            parser.error(f"no source solutions/NN_topic.py for {name!r}")
    chapters, broken = _read(root, chosen, asked_of)
    names = {number: path.stem for number, path in sources_by_number(root).items()}
    bib = root / REFERENCES
    references = bib.read_text(encoding="utf-8") if bib.exists() else ""
    made = [
        with_links(with_minutes(with_data(chapter, asked_of)), names, references)
        for chapter in chapters
    ]
    broken += [
        f"{chapter.file}:{line}: {says}"
        for chapter in chapters
        for line, says in end_faults(chapter, names)
    ]
    if options.openings:
        print("\n".join(_openings(made)))
        return 0
    if options.check:
        broken += [line for chapter in made for line in check(root, chapter)]
        broken += [line for chapter in chapters for line in shown.check(root, chapter)]
        broken += guesses.faults(root, made)
        broken += [] if options.chapters else stray(root)
    if broken:
        print("\n".join(broken), file=sys.stderr)
        return 1
    if options.check:
        print(f"{len(made)} chapters, {2 * len(made)} notebooks: all up to date")
        return 0
    return _build(root, made, options)


def _openings(chapters: Sequence[Chapter]) -> Iterator[str]:
    """Yield a line for each chapter: minutes before its first picture and its first widget."""
    yield f"{'minutes before the first':28} picture  widget"
    for chapter in chapters:
        picture, widget = first_seen(chapter)
        yield f"{chapter.name:28} {picture:7.1f} {widget:7.1f}"


def _build(root: Path, chapters: Sequence[Chapter], options: argparse.Namespace) -> int:
    try:
        for chapter in chapters:
            for line in build(root, chapter, options.execute, options.overwrite, options.timeout):
                print(line, flush=True)
        print(*guesses.write(root, chapters), sep="\n", end="")
    except (NotebookError, ValueError) as error:
        print(f"{error}\nNothing was written for this chapter.", file=sys.stderr)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tools.build_notebooks",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("chapters", nargs="*", help="numbers or names, as 03 or 03_topic; none means all")
    add("--check", action="store_true", help="execute nothing, write nothing, fail on any fault")
    add("--openings", action="store_true", help="only say when a chapter shows something")
    add("--execute", action="store_true", help="execute even where no code changed")
    add("--overwrite", action="store_true", help="replace a learner's notebook that holds work")
    add("--timeout", type=int, default=120, help="seconds a cell may take (%(default)s)")
    add("--root", type=Path, default=_ROOT, help=argparse.SUPPRESS)
    return parser


def _is_one(path: Path, names: Sequence[str]) -> bool:
    return any(path.stem == Path(name).stem or path.stem[:2] == name for name in names)


def _read(
    root: Path, sources: Sequence[Path], asked_of: AskedOf
) -> tuple[list[Chapter], list[str]]:
    """Return the chapters that could be read, and every broken rule as file:line: what."""
    chapters: list[Chapter] = []
    broken: list[str] = []
    for path in sources:
        try:
            chapter = read_chapter(path)
        except ValueError as error:
            broken.append(f"{path.relative_to(root)}:{error}")
            continue
        chapters.append(chapter)
        broken += [f"{chapter.file}:{line}: {says}" for line, says in faults(chapter, asked_of)]
    broken += [f"{chapter.file}:{line}: {says}" for chapter, line, says in asked_twice(chapters)]
    return chapters, broken


if __name__ == "__main__":
    sys.exit(main())
