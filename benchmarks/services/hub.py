"""Measure the cost of a hub: thirty accounts open and run chapter 03, check six exercises, submit.

Each is a Jupyter client that logs in by the form and runs cells on the websocket. When all servers
are up, all open the notebook at once. One of each learner's six answers is a loop that never ends;
the others are right, or a listed mistake. Every verdict is held against what it must be. Whoever
does not come to the end is lost, and the reason is kept.

    python -m benchmarks.services.hub                       all; the record is written
    python -m benchmarks.services.hub --times 5             five classes, one after the other
    python -m benchmarks.services.hub --times 6 --busy 2    beside two busy processes the last time
    python -m benchmarks.services.hub --accounts 3          fewer, only printed
"""

import json
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import nbformat
import psutil
from jupyter_client.manager import start_new_kernel

from benchmarks.recording import Row, Script
from benchmarks.services.memory import held, watched
from course_utils.environment import ROOT, read_pins
from course_utils.exercises import find
from course_utils.model_file import model_path
from course_utils.models.released.gguf.gguf_model import converted_path
from tools.grade_demo import answers_of
from tools.hub_client import Account, HubError, Kernel
from tools.hub_demo import SAVING

CHAPTER = "03_scaled_dot_product"
NOTEBOOK = f"{CHAPTER}/{CHAPTER}.ipynb"
WHOLE = (CHAPTER, "19_released_model")
MIB = 2**20
FIRST_NUMBER = 70_000  # of the learners as users of the system, where the hub is root's
LOOP = "def {name}(*args, **kwargs):\n    while True:\n        pass\n"
MISTAKE = (
    "from course_utils.exercises import find as _find\n"
    "_asked = _find('{name}')\n"
    "_mistake = next(m for m in _asked.mistakes if m.detects is None)\n"
    "{name} = _asked.versions(_mistake)[0]\n"
)
VERDICT = "print('VERDICT', (_said := check('{name}', {name})).status, *_said.misconceptions)"


@dataclass
class Seen:
    """Measurements of the class so far."""

    server: list[float] = field(default_factory=list)
    first: list[float] = field(default_factory=list)
    verdicts: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    wrong: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    finished: int = 0


def kept(seen: Seen, act: Callable[..., None], *given: Any) -> None:
    """Act for one learner; where the hub does not answer, the learner is lost, with the reason."""
    try:
        act(*given, seen)
    except HubError as error:
        seen.lost.append(str(error))


@contextmanager
def beside(busy: int) -> Iterator[None]:
    """Keep some processors busy meanwhile."""
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(busy)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def enter(account: Account, seen: Seen) -> None:
    """Log in, and start a server."""
    start = time.monotonic()
    account.log_in()
    account.start_server()
    seen.server.append(time.monotonic() - start)


def learn(account: Account, number: int, cells: int, seen: Seen) -> None:
    """Do what one learner does."""
    account.assignment("fetch", CHAPTER)
    notebook = account.read(NOTEBOOK)
    code = [cell["source"] for cell in notebook["cells"] if cell["cell_type"] == "code"]
    start = time.monotonic()
    with account.kernel(NOTEBOOK) as kernel:
        kernel.run(code[0])
        seen.first.append(time.monotonic() - start)
        for source in code[1:cells]:
            ran = kernel.run(source)
            if ran.error:
                seen.lost.append(f"{account.name}: {ran.error}")
        check_all(kernel, number, seen)
    answers = answers_of(CHAPTER)
    for cell in notebook["cells"]:
        cell["source"] = answers.get(cell["metadata"].get("exercise"), cell["source"])
    account.save(NOTEBOOK, notebook)
    if account.assignment("submit", CHAPTER)[-1]["status"] != "submitted":
        raise HubError(f"{account.name}: not submitted")
    seen.finished += 1


def check_all(kernel: Kernel, number: int, seen: Seen) -> None:
    """Check every exercise of the chapter with one of the three kinds of answers."""
    for place, (name, right) in enumerate(answers_of(CHAPTER).items()):
        mistake = next(m for m in find(name).mistakes if m.detects is None)
        kind, source, wanted = (
            ("right answer", right, "passed"),
            ("mistake", MISTAKE.format(name=name), f"misconception {mistake.name}"),
            ("loop", LOOP.format(name=name), "crashed"),
        )[2 if (number + place) % 6 == 5 else (number + place) % 2]
        kernel.run(source)
        ran = kernel.run(VERDICT.format(name=name))
        seen.verdicts[kind].append(ran.seconds)
        said = re.search(r"VERDICT (.*)", ran.text)
        if said is None or not said[1].startswith(wanted):
            seen.wrong.append(f"{name}, {kind}: {said[1] if said else ran}")


def memory(folder: Path) -> dict[str, dict[str, int]]:
    """Return the bytes of each account's server and kernels, shared pages divided fairly."""
    used: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            given = process.environ()
            if given.get("COURSE_HUB") != str(folder):
                continue
            who = given.get("JUPYTERHUB_USER", "hub")
            if (number := process.uids().real - FIRST_NUMBER) >= 0:
                who = f"learner{number:02d}"  # of a fork, whose environment is the fork server's
            said = f"{process.name()} {' '.join(process.cmdline())}"
            kind = "kernel" if "kernel" in said else "server"
            used[who][kind if who != "hub" else "all"] += held(process)
    return used


def hogging(accounts: list[Account]) -> dict[str, float]:
    """Return how long one learner's verdict takes beside another who loops in four notebooks."""
    hog, other = accounts
    name = "attention_weights"
    timed: dict[str, float] = {}
    with other.kernel("notebooks/other.ipynb") as kernel:
        kernel.run(
            "from course_utils import check\nimport torch, math\n" + answers_of(CHAPTER)[name]
        )
        kernel.run(VERDICT.format(name=name))

        def median() -> float:
            ask = VERDICT.format(name=name)
            return statistics.median(kernel.run(ask).seconds for _ in range(15))

        timed["alone"] = median()
        loops = [hog.kernel(f"notebooks/{place}.ipynb") for place in range(4)]
        for loop in loops:
            threading.Thread(target=loop.run, args=("while True: pass",), daemon=True).start()
        time.sleep(2)
        timed["beside four loops"] = median()
    for loop in loops:
        hog.server("DELETE", f"api/kernels/{loop.name}")
    return timed


def whole_chapter(account: Account, chapter: str) -> psutil.Process:
    """Return a kernel of an account that has run every cell of a chapter."""
    for session in account.asked("GET", "api/sessions"):
        account.server("DELETE", f"api/sessions/{session['id']}")
    with account.kernel("notebooks/whole.ipynb") as kernel:
        for cell in account.read(f"notebooks/{chapter}.ipynb")["cells"]:
            if cell["cell_type"] == "code":
                kernel.run(cell["source"])
        return psutil.Process(int(kernel.run("import os\nprint(os.getpid())").text))


def by_itself(chapter: str) -> psutil.Process:
    """Return an ordinary kernel, forked from nothing, that has run every cell of a chapter."""
    manager, client = start_new_kernel(env=os.environ | SAVING)
    for cell in nbformat.read(ROOT / "notebooks" / f"{chapter}.ipynb", 4).cells:
        if cell.cell_type == "code":
            client.execute_interactive(cell.source, output_hook=lambda _: None, allow_stdin=False)
    return psutil.Process(manager.provisioner.process.pid)


def own_and_shared(kernel: psutil.Process) -> dict[str, int]:
    """Return the MiB that a kernel holds alone, and those it shares or could, and end it.

    Its own are pages that it has written: files that are mapped, of one process or of thirty, are
    held once.
    """
    maps = kernel.memory_maps(grouped=True)
    own, all_of_it = sum(one.private_dirty for one in maps), sum(one.rss for one in maps)
    kernel.kill()
    return {"own": round(own / MIB), "shared": round((all_of_it - own) / MIB)}


def after_class(class_: list[Account]) -> list[Row]:
    """Return rows of what few learners need: verdicts beside loops, kernels of whole chapters."""
    for one in class_[2:]:
        one.stop_server()
    timed = hogging(class_[:2])
    rows: list[Row] = [
        {"what": f"a verdict {when}, s", "median": round(t, 3)} for when, t in timed.items()
    ]
    for chapter in WHOLE:
        for how, run in (("forked", partial(whole_chapter, class_[0])), ("by itself", by_itself)):
            for whose, size in own_and_shared(run(chapter)).items():
                what = f"kernel after the whole of chapter {chapter[:2]}, {how}: {whose}, MiB"
                rows.append({"what": what, "median": size})
    return rows


def measure(folder: Path, learners: int, cells: int, alone: bool) -> tuple[list[Row], Seen]:
    """Start a hub, let the class in, and return the rows of the record.

    Args:
        folder: The class's.
        learners: How many.
        cells: That each of them runs.
        alone: Whether to go on, when the class has left, with what one or two learners need.
    """
    command = [sys.executable, "-m", "tools.hub_demo", "--folder", str(folder), "--chapters"]
    demo = subprocess.Popen(
        [*command, CHAPTER, "--accounts", str(learners)], cwd=ROOT, text=True, stdout=-1
    )
    seen = Seen()
    try:
        said = ""
        while "ends it" not in said:
            said += (line := demo.stdout.readline() if demo.stdout else "")
            if not line:
                sys.exit(said)
        address = re.search(r"http://127\.0\.0\.1:\d+", said)[0]  # type: ignore[index]
        passwords = json.loads((folder / "accounts.json").read_text())
        names = [name for name in passwords if name != "instructor"]
        class_ = [Account(address, name, passwords[name]) for name in names]

        def in_use() -> int:
            return sum(sum(kinds.values()) for kinds in memory(folder).values())

        start = time.monotonic()
        with watched(in_use) as most, ThreadPoolExecutor(learners) as pool:
            list(pool.map(lambda one: kept(seen, enter, one), class_))
            up = time.monotonic() - start
            each = enumerate(class_)
            list(pool.map(lambda pair: kept(seen, learn, pair[1], pair[0], cells), each))
        minutes = (time.monotonic() - start) / 60
        used, peak = memory(folder), max(most)
        inbound = list((folder / "exchange" / "attention" / "inbound").iterdir())
        if len(inbound) != learners:
            seen.lost.append(f"{len(inbound)} hand-ins of {learners}")
        extra = after_class(class_) if alone else []
    finally:
        demo.send_signal(signal.SIGTERM)
        demo.communicate()
    held_by = [used[name] for name in names]
    every = [value for times in seen.verdicts.values() for value in times]
    rows: list[Row] = [
        {"what": "server of a learner, MiB", "median": _median(e["server"] / MIB for e in held_by)},
        {"what": "kernel of a learner, MiB", "median": _median(e["kernel"] / MIB for e in held_by)},
        {"what": "hub and proxy, MiB", "median": round(used["hub"]["all"] / MIB)},
        {"what": "all together at most, GiB", "median": round(peak / 2**30, 1)},
        {"what": "all servers up, s", "median": round(up)},
        {"what": "all of it, minutes", "median": round(minutes, 1)},
        _row("log-in and server, s", seen.server),
        _row("notebook opened until its first cell is done, s", seen.first),
        _row("a verdict, s", every),
        *(_row(f"a verdict on a {kind}, s", times) for kind, times in seen.verdicts.items()),
        *extra,
    ]
    return rows, seen


def _median(values: Any) -> int:
    return round(statistics.median(values))


def _row(what: str, times: list[float]) -> Row:
    high = statistics.quantiles(times, n=20, method="inclusive")[-1] if len(times) > 1 else times[0]
    return {
        "what": what,
        "median": round(statistics.median(times), 2),
        "p95": round(high, 2),
        "most": round(max(times), 2),
    }


def main() -> int:
    """Run from the command line; the exit status is 1 where a verdict was wrong or work lost."""
    script = Script(__file__, __doc__, accounts=30, cells=1000, times=1, busy=0)
    given = script.options
    classes, load = [], os.getloadavg()[0]
    for time_ in range(given.times):
        busy = given.busy if time_ == given.times - 1 else 0
        with (
            tempfile.TemporaryDirectory(prefix="hub-bench-", ignore_cleanup_errors=True) as made,
            beside(busy),
        ):
            rows, seen = measure(Path(made).resolve(), given.accounts, given.cells, not classes)
        classes.append(
            {
                "busy_processes": busy,
                "finished": seen.finished,
                "verdicts": sum(map(len, seen.verdicts.values())),
                "wrong": len(seen.wrong),
                "lost": len(seen.lost),
                "rows": rows,
            }
        )
        for row in (*rows, *seen.wrong, *seen.lost, {**classes[-1], "rows": len(rows)}):
            print(row, flush=True)
    first = classes[0]
    if given.accounts >= 30:
        script.record(
            what="thirty accounts of a hub on one machine, all at once",
            versions={name: read_pins(ROOT, "hub")[name] for name in ("jupyterhub", "nbgrader")},
            machine=f"{os.cpu_count()} processors, 1 thread a kernel",
            settings={
                "accounts": given.accounts, "chapter": CHAPTER, "code_cells_run": given.cells,
                "verdicts": first["verdicts"], "wrong_verdicts": first["wrong"],
                "lost": first["lost"], "load_before": round(load, 1),
                "model_mapped": converted_path(model_path()).is_file(),
            },
            runs=first["rows"],
            classes=classes,
        )  # fmt: skip
    return int(any(one["wrong"] or one["lost"] for one in classes))


if __name__ == "__main__":
    sys.exit(main())
