"""Tables of the page "The course against its peers", from the record of `make bench`."""

import json
from html import escape
from pathlib import Path
from statistics import median
from typing import Any

from book.blocks import block, table

ROOT = Path(__file__).resolve().parent.parent
RECORD = ROOT / "course_utils" / "records" / "bench.json"
VERDICTS = RECORD.with_name("verdicts.json")
ANSWERS = {
    "right": "a right answer, checked",
    "named": "a wrong answer whose mistake is known",
    "unnamed": "a wrong answer that nothing explains",
    "first": "the same, as the first check of a session",
}
RUNNING = ROOT / "book" / "running.json"


def load() -> dict[str, Any]:
    """Return the record."""
    record: dict[str, Any] = json.loads(RECORD.read_text(encoding="utf-8"))
    return record


def markdown() -> str:
    """Return the table of ratios, and a line that says how it came about."""
    record = load()
    rows = []
    for run in record["runs"]:
        times = f"{run['median']:.2f} ({run['low']:.2f} to {run['high']:.2f})"
        aim = "" if run["aim"] is None else f"{run['aim']:.2g}, {_reached(run)}"
        rows.append((f"{run['chapter']:02d}", escape(run["says"]), times, escape(run["peer"]), aim))
    made = (
        f"Recorded on {record['date']} with <code>{escape(record['command'])}</code>, "
        f"PyTorch {record['versions']['torch']}, transformers "
        f"{record['versions']['transformers']}, on {escape(record['settings']['processor'])}."
    )
    missed = [
        f"{escape(run['says'])} ({run['median']:.2f}, aimed at {run['aim']:.2g})"
        for run in record["runs"] if run["aim"] is not None and _reached(run) == "missed"
    ]  # fmt: skip
    short = f"Missed: {'; '.join(missed)}." if missed else "No aim was missed."
    head = ("Chapter", "What", "Times as fast", "as", "Aim")
    return block(table(head, rows), f"<p>{made} {short}</p>")


def elsewhere() -> str:
    """Return what a check, an import and the notebooks cost."""
    record = load()
    verdicts = json.loads(VERDICTS.read_text(encoding="utf-8"))["runs"]
    imports = {run["import"]: run["seconds"] for run in record["imports"]}
    running = json.loads(RUNNING.read_text(encoding="utf-8"))
    longest = max(running, key=lambda name: running[name])
    rows = [
        *((says, _spread(verdicts, key)) for key, says in ANSWERS.items()),
        ("<code>import course_utils</code>", _seconds(imports, "course_utils")),
        ("<code>import course_utils.attention</code>",
         f"{_seconds(imports, 'course_utils.attention')}, of which torch takes "
         f"{_seconds(imports, 'torch')}"),
        ("all notebooks, executed", f"{sum(running.values())} s; the longest is "
         f"<code>{longest}</code> with {running[longest]} s"),
    ]  # fmt: skip
    return block(table(("What", "Processor time"), rows))


def _spread(runs: list[dict[str, Any]], key: str) -> str:
    slowest = max(runs, key=lambda run: run[key])
    middle = 1e3 * median(run[key] for run in runs)
    most = f"{slowest[key]:.2f} s (<code>{slowest['exercise']}</code>)"
    return f"{middle:.0f} ms in the median of {len(runs)} exercises; at most {most}"


def _reached(run: dict[str, Any]) -> str:
    return "reached" if run["median"] >= run["aim"] else "missed"


def _seconds(imports: dict[str, float], name: str) -> str:
    seconds = imports[name] - imports["sys"]
    return f"{seconds:.2f} s" if seconds >= 0.01 else "under 0.01 s"
