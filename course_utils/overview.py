"""A learner's progress: what is passed, what comes next, and the minutes that are left."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby
from pathlib import Path

from course_utils.checking.report import CELL, card
from course_utils.sources import FURTHER, Page, pages

_HEAD = f"{CELL};font-weight:normal"  # of a row


@dataclass(frozen=True)
class Row:
    """One exercise: its chapter, name and state, its minutes, True if it is further."""

    chapter: int
    name: str
    state: str
    minutes: int
    further: bool = False


@dataclass(frozen=True)
class Overview:
    """Exercises that are passed, tried, and still to come; a sentence on the guesses given."""

    rows: tuple[Row, ...]
    guesses: str = ""

    def __str__(self) -> str:
        width = max((len(row.name) for row in self.rows), default=0)
        lines, known = [self._headline(), *self._sentences()], pages()
        for chapter, rows in self._chapters():
            lines += ["", f"chapter {_titled(chapter, known.get(chapter))}: {_counted(rows)}"]
            lines += [
                f"  {row.name:<{width}}  {row.state}{f', {FURTHER}' if row.further else ''}"
                for row in rows
            ]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        below = self._bars() if len(self._chapters()) > 1 else self._list()
        return card(f"→ {self._headline()}", "progress", self._sentences("`"), below=below)

    def _chapters(self) -> list[tuple[int, list[Row]]]:
        return [(number, list(rows)) for number, rows in groupby(self.rows, lambda r: r.chapter)]

    def _headline(self) -> str:
        return f"{_passed(self.rows)} exercises passed"

    @property
    def next_row(self) -> Row | None:
        """The first exercise after the last one passed; then what was left out on the way.

        What is further comes when nothing is left of the core path.
        """
        last = max((i for i, row in enumerate(self.rows) if row.state == "passed"), default=-1)
        ahead = [row for row in (*self.rows[last + 1 :], *self.rows) if row.state != "passed"]
        return min(ahead, key=lambda row: row.further, default=None)

    def _sentences(self, mark: str = "") -> list[str]:
        """Return what comes next, its name between two marks, and how much is left."""
        then, said = self.next_row, ["Nothing is left to do here."]
        if then is not None:
            name = f"{mark}{then.name}{mark}"
            said = [
                f"Next: {name}, chapter {then.chapter:02d}, {then.minutes} minutes.",
                f"Left: {', '.join(_left(self.rows, 'on the core path'))}.",
            ]
        return [*said, *filter(None, [self.guesses])]

    def _list(self) -> str:
        """Return a row for each exercise, below the title of their one chapter."""
        rows = [
            (
                f"<code>{row.name.replace('_', '_<wbr>')}</code>",
                f"{row.minutes} min{f', {FURTHER}' if row.further else ''}",
                row.state,
            )
            for row in self.rows
        ]
        title = "".join(linked(chapter, pages().get(chapter)) for chapter, _ in self._chapters())
        table = _table(("exercise", "takes", "state"), rows)
        return f'<p style="margin:0">{title}</p>{table}'

    def _bars(self) -> str:
        """Return a row for each chapter: its title, a bar for the eye, and the same in words."""
        rows, known = [], pages()
        for chapter, exercises in self._chapters():
            tried = sum(row.state == "tried" for row in exercises)
            bar = (
                f'<span role="img" aria-label="{_passed(exercises)} passed, {tried} tried" '
                'style="display:flex;gap:2px;align-items:end;min-width:3em">'
                f"{''.join(map(_cell, exercises))}</span>"
            )
            left = [duration(_minutes(exercises, further)) for further in (False, True)]
            rows.append((linked(chapter, known.get(chapter)), bar, _passed(exercises), *left))
        legend = f"Full is passed, half is tried; low is {FURTHER}, not on the core path."
        table = _table(("chapter", "exercises", "passed", "core left", f"{FURTHER} left"), rows)
        return f'{table}<p style="margin:0;font-size:.9em">{legend}</p>'


def linked(chapter: int, page: Page | None) -> str:
    """Return a chapter's number and title as HTML: a link where its notebook is beside this one."""
    text = escape(_titled(chapter, page))
    file = Path(f"{page.name}.ipynb") if page else None
    return f'<a href="{file}">{text}</a>' if file and file.is_file() else text


def _titled(chapter: int, page: Page | None) -> str:
    return f"{chapter:02d} {page.title if page else ''}".rstrip()


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table whose first column names the rows; the cells are HTML."""
    top = "".join(f'<th scope="col" style="{CELL}">{head}</th>' for head in heads)
    body = ""
    for first, *rest in rows:
        cells = "".join(f'<td style="{CELL}">{cell}</td>' for cell in rest)
        body += f'<tr><th scope="row" style="{_HEAD}">{first}</th>{cells}</tr>'
    return (
        f'<table style="width:100%;margin:.3em 0"><thead><tr>{top}</tr></thead>'
        f"<tbody>{body}</tbody></table>"
    )


def _cell(row: Row) -> str:
    """Return an exercise's part of the bar: filled, half or empty, and named under the pointer."""
    inside = {"passed": "#2e8540", "tried": "linear-gradient(to top,#c05717 50%,transparent 50%)"}
    return (
        f'<span title="{row.name}: {row.state}" style="flex:1;border:1px solid #808080;'
        f"height:{'.5em' if row.further else '1em'};"
        f'background:{inside.get(row.state, "transparent")}"></span>'
    )


def _passed(rows: Sequence[Row]) -> str:
    return f"{sum(row.state == 'passed' for row in rows)} of {len(rows)}"


def _counted(rows: Sequence[Row]) -> str:
    return ", ".join([_passed(rows), *_left(rows, "left")])


def _left(rows: Sequence[Row], core: str) -> list[str]:
    """Return the minutes left, those of the core path and those that are further."""
    left = ((_minutes(rows, False), core), (_minutes(rows, True), FURTHER))
    return [f"{duration(minutes)} {words}" for minutes, words in left if minutes]


def _minutes(rows: Sequence[Row], further: bool) -> int:
    return sum(row.minutes for row in rows if row.further == further and row.state != "passed")


def duration(minutes: int) -> str:
    """Return minutes as hours and minutes."""
    hours, rest = divmod(minutes, 60)
    if not hours:
        return f"{rest} min"
    return f"{hours} h {rest} min" if rest else f"{hours} h"
