"""Tables of the page "The course against its peers", from the record of `make bench`."""

import json
import math
from html import escape
from itertools import groupby
from statistics import median
from typing import Any

from book.blocks import block, recorded, table
from book.facts import RUNNING
from course_utils.measure import read_record

ANSWERS = {
    "right": "a right answer, checked",
    "named": "a wrong answer whose mistake is known",
    "unnamed": "a wrong answer that nothing explains",
    "first": "the same, as the first check of a session",
}


def markdown() -> str:
    """Return the table of ratios, and a line that says how it was made."""
    record = read_record("bench")
    rows = []
    for run in record["runs"]:
        times = f"{run['median']:.2f} ({run['low']:.2f} to {run['high']:.2f})"
        aim = "" if run["aim"] is None else f"{run['aim']:.2g}, {_reached(run)}"
        rows.append((f"{run['chapter']:02d}", escape(run["says"]), times, escape(run["peer"]), aim))
    made = recorded(record, torch="PyTorch", transformers="transformers")
    missed = [
        f"{escape(run['says'])} ({run['median']:.2f}, aimed at {run['aim']:.2g})"
        for run in record["runs"] if run["aim"] is not None and _reached(run) == "missed"
    ]  # fmt: skip
    short = f"Missed: {'; '.join(missed)}." if missed else "No aim was missed."
    head = ("Chapter", "What", "Times as fast", "as", "Aim")
    return block(table(head, rows), f"<p>{made} {short}</p>")


TICKS = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100)


def drawn() -> str:
    """Return the ratios as a picture: median and spread of each, on a logarithmic axis."""
    runs = read_record("bench")["runs"]
    low = min(TICKS[0], *(run["low"] for run in runs))
    high = max(TICKS[-1], *(run["high"] for run in runs))

    def at(ratio: float) -> str:
        return f"{100 * math.log(ratio / low) / math.log(high / low):.1f}%"

    lines = ", ".join(
        f"linear-gradient(var({'--one' if tick == 1 else '--line'}) 0 0) {at(tick)} / "
        f"{2 if tick == 1 else 1}px 100% no-repeat"
        for tick in TICKS
    )
    marks = "".join(f'<i style="left:{at(tick)}">{tick:g}</i>' for tick in TICKS)
    axis = (
        f'<div class="run axis"><span>times as fast</span><span class="track">{marks}</span></div>'
    )
    rows = [axis]
    for (chapter, says), own in groupby(runs, key=lambda run: (run["chapter"], run["says"])):
        rows.append(f'<div class="group">{chapter:02d} · {escape(says)}</div>')
        for run in own:
            spread = f"left:{at(run['low'])};right:calc(100% - {at(run['high'])})"
            rows.append(
                f'<div class="run"><span>{escape(run["peer"])}</span><span class="track">'
                f'<i class="spread" style="{spread}"></i>'
                f'<i class="median" style="left:{at(run["median"])}"></i></span></div>'
            )
    slower = sum(run["median"] < 1 for run in runs)
    says = (
        f"{len(runs)} ratios on a logarithmic axis, each a dot for the median and a bar from the "
        f"smallest to the largest; {len(runs) - slower} medians are above 1, where ours is faster, "
        f"and {slower} below. The table has the numbers."
    )
    head = f'<figure class="ratios" role="img" aria-label="{says}" style="--ticks:{lines}">'
    return block(head, *rows, axis, "</figure>")


def elsewhere() -> str:
    """Return what a check, an import and the notebooks cost."""
    verdicts = read_record("verdicts")["runs"]
    imports = {run["import"]: run["seconds"] for run in read_record("bench")["imports"]}
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
