"""Grade a class's submissions, several at a time; what is done is kept, whatever happens next.

Each graded notebook is one line of `results.jsonl`, written as soon as it is known. A run that was
stopped continues where it was; a notebook resubmitted with new content is graded again.
"""

import csv
import hashlib
import json
import multiprocessing
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, as_completed
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from course_utils.checking.progress import json_lines
from course_utils.exercises import find
from course_utils.grading.grade import SECONDS, grade
from course_utils.grading.notebook import asked, code_cells

RESULTS = "results.jsonl"
LARGEST = 50 * 2**20  # bytes; a learner's notebook has a hundredth of that
_one_at_a_time = threading.Lock()  # an executor may use threads; torch's random state is one
Result = dict[str, Any]


@dataclass(frozen=True)
class HandIn:
    """One notebook of one learner.

    Attributes:
        learner: The folder it is in, or its own name if it is in none.
        path: The file.
        time: When it was handed in, in seconds: what nbgrader recorded, or the file's own time.
    """

    learner: str
    path: Path
    time: float


def hand_ins(place: Path) -> list[HandIn]:
    """Return the notebooks of a folder, sorted by name, or the one that is given.

    The first folder on the way to a notebook names the learner, as nbgrader, Moodle and most
    others lay hand-ins out.

    Raises:
        FileNotFoundError: There is no such file or folder.
    """
    if not place.exists():
        raise FileNotFoundError(f"there must be a notebook or a folder at {place}")
    found = [place] if place.is_file() else sorted(place.rglob("*.ipynb"))
    listed = []
    for path in found:
        parts = path.relative_to(place).parts if path != place else (path.name,)
        if not any(part.startswith(".") for part in parts):
            learner = parts[0] if len(parts) > 1 else path.stem
            listed.append(HandIn(learner, path, _handed_in(path)))
    return listed


def _handed_in(path: Path) -> float:
    noted = path.parent / "timestamp.txt"  # nbgrader's
    try:
        said = noted.read_text(encoding="utf-8")
        return datetime.fromisoformat(said.strip().replace(" UTC", "+00:00")).timestamp()
    except (OSError, ValueError):
        return path.stat().st_mtime


def grade_one(hand_in: HandIn, exercises: Sequence[str] = (), seconds: int = SECONDS) -> Result:
    """Return the verdicts on a notebook and its points; a notebook that cannot be graded says why.

    Args:
        hand_in: The notebook.
        exercises: The names of those that are graded; if empty, all that it asks for.
        seconds: How long an answer may take.
    """
    result: Result = {
        "learner": hand_in.learner, "notebook": str(hand_in.path), "time": hand_in.time,
        "digest": "", "chapter": None, "points": 0, "of": 0, "error": None, "reports": [],
    }  # fmt: skip
    try:
        data = _read(hand_in.path)
        result["digest"] = hashlib.sha256(data).hexdigest()
        text = data.decode("utf-8")
        cells, names = code_cells(text), exercises or asked(text)
        if not names:
            raise ValueError("it asks for no exercise of the course")
        result["chapter"] = find(names[0]).chapter
        for name in names:
            with _one_at_a_time:
                report = grade(name, cells, seconds)
            of = find(name).points
            points = of if report.passed else 0
            said = {**asdict(report), "misconceptions": list(report.misconceptions)}
            result["reports"].append({**said, "picture": None, "points": points, "of": of})
            result["points"] += points
            result["of"] += of
    except Exception as error:  # whatever is in one notebook, the others are graded
        result["error"] = f"{type(error).__name__}: {error}"
    return result


def end_with_parent() -> None:
    """Let this process of a pool end when the run is killed: it would wait for work forever."""
    parent = multiprocessing.parent_process()

    def watch() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def grade_all(
    given: Iterable[HandIn],
    folder: Path,
    executor: Executor,
    exercises: Sequence[str] = (),
    seconds: int = SECONDS,
    show: Callable[[Iterator[Any], int], Iterable[Any]] = lambda done, total: done,
) -> list[Result]:
    """Grade what a folder has no result of yet, and return all its results, old and new.

    Args:
        given: The notebooks.
        folder: Where the results are written, line by line.
        executor: Does the work: processes of this machine, or of a cluster.
        exercises: As `grade_one` takes them.
        seconds: As `grade_one` takes them.
        show: Is passed the work that is done, as it is done, and how much there is.
    """
    folder.mkdir(parents=True, exist_ok=True)
    store, wanted = folder / RESULTS, list(given)
    known = {(one["notebook"], one["digest"]) for one in read_results(store)}
    todo = [one for one in wanted if (str(one.path), _digest(one.path)) not in known]
    futures = [executor.submit(grade_one, one, exercises, seconds) for one in todo]
    with store.open("ab") as file:
        if file.tell():
            file.write(b"\n")  # after a torn line; an empty line is ignored
        for future in show(as_completed(futures), len(futures)):
            file.write(json.dumps(future.result()).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())
    return list(read_results(store))


def _read(path: Path) -> bytes:
    if path.stat().st_size > LARGEST:
        raise ValueError(f"a submission must have at most {LARGEST // 2**20} MiB")
    return path.read_bytes()


def _digest(path: Path) -> str:
    try:
        return hashlib.sha256(_read(path)).hexdigest()
    except ValueError:
        return ""


def read_results(store: Path) -> Iterator[Result]:
    """Return the whole lines of a file of results; without a file there are none."""
    if store.exists():
        yield from (one for one in json_lines(store) if "digest" in one)


def latest(results: Iterable[Result]) -> dict[tuple[str, int], Result]:
    """Return each learner's last hand-in of each chapter."""
    counted = [one for one in results if one["chapter"] is not None]
    ordered = sorted(counted, key=lambda one: float(one["time"]))
    return {(one["learner"], one["chapter"]): one for one in ordered}


def write_tables(results: Iterable[Result], folder: Path) -> None:
    """Write the points as CSV: for a spreadsheet, and in the formats that Canvas and Moodle import.

    A learner is named there like the hand-in's folder: the login that both know them by.
    """
    last = latest(results)
    learners = sorted({learner for learner, _ in last})
    chapters = sorted({chapter for _, chapter in last})
    titles = [f"Chapter {chapter:02d}" for chapter in chapters]
    most = [max(one["of"] for (_, of), one in last.items() if of == c) for c in chapters]
    rows = {
        learner: [last.get((learner, chapter), {}).get("points", "") for chapter in chapters]
        for learner in learners
    }
    write_csv(
        folder / "points.csv",
        ["learner", "chapter", "exercise", "points", "of", "verdict"],
        *(
            [learner, chapter, said["exercise"], said["points"], said["of"], said["status"]]
            for (learner, chapter), one in sorted(last.items())
            for said in one["reports"]
        ),
    )
    # As Canvas exports it: five columns that say who it is, and a row of possible points.
    names = ["Student", "ID", "SIS User ID", "SIS Login ID", "Section"]
    write_csv(
        folder / "canvas.csv",
        [*names, *titles],
        ["    Points Possible", "", "", "", "", *most],
        *([learner, "", "", learner, "", *points] for learner, points in rows.items()),
    )
    write_csv(
        folder / "moodle.csv",
        ["username", *titles],
        *([learner, *points] for learner, points in rows.items()),
    )


def write_csv(path: Path, *rows: Sequence[Any]) -> None:
    """Write the rows of a table, the first of which names the columns."""
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(rows)
