"""The parts of the instructor's pages that are made of data: pacing, and pitfalls."""

import re
from dataclasses import fields
from html import escape
from itertools import accumulate, pairwise
from typing import Any

from book.blocks import block, code_words, folded, recorded, table, wrong_lines
from book.facts import Facts
from course_utils.checking.reviewing import DAYS
from course_utils.measure import read_record
from tools.notebooks.minutes import counted

DO = "exercises of "
Part = tuple[str, int]


def pacing(facts: dict[str, Facts], titles: dict[str, str]) -> str:
    """Return the table of times, chapter by chapter, with their sums."""
    rows = [(titles[n], *_times(f)) for n, f in facts.items()]
    sums = {
        one.name: sum(getattr(f, one.name) or 0 for f in facts.values()) for one in fields(Facts)
    }
    head = (
        *("Chapter", "Reading", "Running", "Exercises", "Work", "Points"),
        *("Core path", "Together"),
    )
    return block(table(head, [*rows, ("All", *_times(Facts(**sums)))], "numbers"))


def _times(facts: Facts) -> tuple[str, ...]:
    return (
        _hours(facts.read),
        "" if facts.run is None else f"{facts.run} s",
        str(facts.exercises or ""),
        _hours(facts.do) if facts.do else "",
        str(facts.points or ""),
        _hours(facts.core) if facts.core else "",
        _hours(facts.read + facts.do),
    )


def _hours(minutes: int) -> str:
    return f"{minutes} min" if minutes < 300 else f"{minutes / 60:.1f} h"


def hub_costs() -> str:
    """Return what a hub costs, from the record of benchmarks/services/hub.py."""
    record = read_record("hub")
    rows = [
        (escape(run["what"]), *(_number(run.get(key)) for key in ("median", "p95", "most")))
        for run in record["runs"]
    ]
    given = record["settings"]
    made = (
        f"{given['accounts']} accounts at once on {record['machine']}, the first "
        f"{given['code_cells_run']} code cells of chapter {given['chapter'][:2]} run and six "
        f"exercises checked. {recorded(record, torch='PyTorch')} Before it "
        f"began, the machine had a load of {given['load_before']} from other work. The first class "
        "of the table below; the kernels of whole chapters were measured after it had left."
    )
    head = ("What", "Median", "95th percentile", "Most")
    return block(table(head, rows, "numbers"), f"<p>{made}</p>", f"<p>{_rule(record)}</p>")


def _rule(record: dict[str, Any]) -> str:
    """Return how many learners a machine carries, by what was measured."""
    held = {run["what"]: run["median"] for run in record["runs"]}
    server, given = held["server of a learner, MiB"], record["settings"]
    whole = re.compile(r"kernel after the whole of chapter (\d+), forked: own, MiB")
    needs = {found[1]: server + held[what] for what in held if (found := whole.fullmatch(what))}
    chapter, each = max(needs.items(), key=lambda pair: pair[1])
    return (
        f"<strong>Rule.</strong> A learner's server and kernel hold {each:.0f} MiB after the whole "
        f"of chapter {chapter}, besides what all share: {1024 / each:.1f} learners per GiB. These "
        f"{given['accounts']} worked at once on {record['machine'].split(',')[0]}; fewer work at "
        "once in a class that talks."
    )


CLASS = {  # a column of the table of classes: the row of a class's measurements, and which of them
    "Servers up, s": ("all servers up, s", "median"),
    "First cell done, s (95%)": ("notebook opened until its first cell is done, s", "p95"),
    "Verdict, s (median)": ("a verdict, s", "median"),
    "Verdict on a mistake, s (95%)": ("a verdict on a mistake, s", "p95"),
    "Memory, GiB": ("all together at most, GiB", "median"),
    "All of it, min": ("all of it, minutes", "median"),
}


def hub_classes() -> str:
    """Return how each recorded class went, from the same record."""
    record = read_record("hub")
    rows = []
    for number, one in enumerate(record["classes"], 1):
        found = {row["what"]: row for row in one["rows"]}
        measured = (_number(found[what][which]) for what, which in CLASS.values())
        busy = one["busy_processes"]
        name = f"{number}, beside {busy} busy processes" if busy else str(number)
        told = (one["finished"], one["verdicts"], one["wrong"], one["lost"])
        rows.append((name, *map(str, told), *measured))
    head = ("Class", "Finished", "Verdicts", "Wrong", "Lost", *CLASS)
    return block(table(head, rows, "numbers"))


def grading_rates() -> str:
    """Return how fast a class is graded, from the record of benchmarks/services/grading.py."""
    record = read_record("grading")
    rows = [
        (run["way"], f"{run['per_minute']:.0f}", _number(run["peak_mib"])) for run in record["runs"]
    ]
    given = record["settings"]
    made = (
        f"{given['submissions']} submissions of {given['exercises']} exercises, "
        f"{given['hostile']} of them hostile in {given['kinds_of_hostile']} ways: "
        f"{'the same points each way' if given['same_points'] else 'points differ'}, "
        f"{given['hostile_that_gained']} hostile ones gained, "
        f"{given['files_harmed']} files harmed. {recorded(record, torch='PyTorch')}"
    )
    head = ("Graded", "Submissions per minute", "Memory at most, MiB")
    return block(table(head, rows, "numbers"), f"<p>{made}</p>")


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:g}"


def plan(facts: dict[str, Facts], titles: dict[str, str], weeks: int) -> str:
    """Return a plan: what to read, to do and to write once more in each of some weeks."""
    parts: list[Part] = []
    for number, each in facts.items():
        parts.append((f"read {titles[number]}", each.read))
        if each.exercises:
            parts.append((DO + number, each.do))
    shares = spread(parts, weeks)
    done = [[name.removeprefix(DO) for name, _ in s if name.startswith(DO)] for s in shares]
    rows = []
    for week, share in enumerate(shares):
        earlier = [week - round(days / 7) for days in DAYS if days >= 7]
        again = ", ".join(number for past in earlier if past >= 0 for number in done[past])
        what = "; ".join(name for name, _ in share)
        rows.append((str(week + 1), what, again, _hours(sum(m for _, m in share))))
    return block(table(("Week", "What", "Again", "Time"), rows, "plan"))


def spread(parts: list[Part], weeks: int) -> list[list[Part]]:
    """Divide parts, in their order, among at most some weeks as evenly as can be.

    Even is what makes the sum of the weeks' squared minutes least: no week stands out.
    """
    totals = [0, *accumulate(minutes for _, minutes in parts)]
    ends = range(len(parts) + 1)
    # best[i]: that sum, and the cuts, for the first i parts in the weeks so far.
    best = [(totals[i] ** 2, [i]) for i in ends]
    for _ in range(weeks - 1):
        best = [
            min((best[j][0] + (totals[i] - totals[j]) ** 2, [*best[j][1], i]) for j in range(i + 1))
            for i in ends
        ]
    cuts = [0, *best[-1][1]]
    shares = [parts[start:end] for start, end in pairwise(cuts)]
    return [share for share in shares if share]


def pitfalls(numbers: dict[str, str]) -> str:
    """Return every mistake that the exercises name, and the question that answers each.

    Args:
        numbers: What each chapter is called, by number.
    """
    from course_utils.exercises import all_exercises

    parts = []
    for number, title in numbers.items():
        own = [e for e in all_exercises() if f"{e.chapter:02}" == number]
        if own:
            parts.append(f"## {title}")
        for exercise in own:
            mistakes = [
                (code_words(m.name), code_words(m.says) + wrong_lines(m)) for m in exercise.mistakes
            ]
            points = counted(exercise.points, "point")
            about = f"{len(mistakes)} mistakes, {points}, {exercise.minutes} min"
            asks = f"<p>{code_words(exercise.asks)}</p>"
            name = f"<code>{escape(exercise.name)}</code>: {escape(about)}"
            parts.append(folded(name, asks, _list(mistakes)))
    return "\n\n".join(parts)


def _list(mistakes: list[tuple[str, str]]) -> str:
    rows = "\n".join(f"<dt>{name}</dt><dd>{says}</dd>" for name, says in mistakes)
    return f'<dl class="pitfalls">\n{rows}\n</dl>'
