"""The table of mistakes that nobody listed: changes of the references, from the tool's record."""

from collections import Counter
from html import escape
from pathlib import Path
from typing import Any

from book.blocks import block, code_words, folded, table
from course_utils.measure import read_record


def load() -> dict[str, Any]:
    """Return the record."""
    return read_record("unlisted", Path(__file__).resolve().parent)


def markdown(titles: dict[str, str]) -> str:
    """Return a row for each chapter, then every survivor with why it may pass.

    Args:
        titles: What each chapter is called, by its number.
    """
    record = load()
    rows: list[dict[str, Any]] = record["rows"]
    chapters = sorted({row["chapter"] for row in rows})
    cells = [
        (code_words(titles[f"{number:02}"]), *_counts([r for r in rows if r["chapter"] == number]))
        for number in chapters
    ]
    cells.append(("<strong>all</strong>", *_counts(rows)))
    made = (
        f"Recorded on {record['date']}, of {len(rows)} exercises, with "
        f"<code>{escape(record['command'])}</code>, PyTorch {record['versions']['torch']}."
    )
    head = ("Chapter", "Changes", "Caught", "Equal", "Missed", "Rate")
    survivors = [_folded(row) for row in rows if row["survivors"]]
    return "\n\n".join([block(table(head, cells), f"<p>{made}</p>"), *survivors])


def _counts(rows: list[dict[str, Any]]) -> tuple[str, ...]:
    made, caught = (sum(row[name] for row in rows) for name in ("made", "caught"))
    missed = sum(bool(one["differs"]) for row in rows for one in row["survivors"])
    rate = caught / (caught + missed)
    return (*(f"{n:,}" for n in (made, caught, made - caught - missed, missed)), f"{rate:.2%}")


def _folded(row: dict[str, Any]) -> str:
    """Return an exercise's survivors: a statement that never runs is one, however often changed."""
    found = Counter(
        (one["line"] or one["change"], one["reason"], one["differs"]) for one in row["survivors"]
    )
    cells = [
        (f"<code>{escape(change)}</code>", str(times), code_words(why), escape(differs) or "none")
        for (change, why, differs), times in found.items()
    ]
    name = f"<code>{escape(row['exercise'])}</code>"
    titles = ("Change", "Times", "Why it may pass", "Input on which it differs")
    return folded(f"{name}: {len(row['survivors'])} of {row['made']} pass", table(titles, cells))
