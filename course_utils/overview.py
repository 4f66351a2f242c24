"""A learner's progress: chapters with bars, what comes next, and the minutes that are left."""

from dataclasses import dataclass
from itertools import groupby

from course_utils.checking.report import CELL, card


@dataclass(frozen=True)
class Row:
    """One exercise: its chapter and name, its state, and the minutes that it takes."""

    chapter: int
    name: str
    state: str
    minutes: int


@dataclass(frozen=True)
class Overview:
    """Exercises that are passed, tried, and still to come."""

    rows: tuple[Row, ...]

    def __str__(self) -> str:
        width = max((len(row.name) for row in self.rows), default=0)
        lines = [self._headline(), *self._sentences()]
        for chapter, rows in self._chapters():
            passed = sum(row.state == "passed" for row in rows)
            lines += ["", f"chapter {chapter:02d}: {passed} of {len(rows)}{_left(rows)}"]
            lines += [f"  {row.name:<{width}}  {row.state}" for row in rows]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return card(f"→ {self._headline()}", "progress", self._sentences("`"), below=self._bars())

    def _chapters(self) -> list[tuple[int, list[Row]]]:
        return [(number, list(rows)) for number, rows in groupby(self.rows, lambda r: r.chapter)]

    def _headline(self) -> str:
        passed = sum(row.state == "passed" for row in self.rows)
        return f"{passed} of {len(self.rows)} exercises passed"

    @property
    def next_row(self) -> Row | None:
        """The first exercise after the last one passed; then what was left out on the way."""
        last = max((i for i, row in enumerate(self.rows) if row.state == "passed"), default=-1)
        ahead = [row for row in (*self.rows[last + 1 :], *self.rows) if row.state != "passed"]
        return ahead[0] if ahead else None

    def _sentences(self, mark: str = "") -> list[str]:
        """Return what comes next, its name between two marks, and how much is left."""
        then = self.next_row
        if then is None:
            return ["Nothing is left to do here."]
        minutes = sum(row.minutes for row in self.rows if row.state != "passed")
        name = f"{mark}{then.name}{mark}"
        return [
            f"Next: {name}, chapter {then.chapter:02d}, {then.minutes} minutes.",
            f"Left: {duration(minutes)} of exercises.",
        ]

    def _bars(self) -> str:
        """Return a row for each chapter: a bar for the eye, and the same in words."""
        rows = []
        for chapter, exercises in self._chapters():
            passed, tried = (
                sum(row.state == state for row in exercises) for state in ("passed", "tried")
            )
            says = f"{passed} of {len(exercises)}"
            bar = "".join(map(_cell, exercises))
            left = _left(exercises).replace(" ", "&nbsp;").replace(",&nbsp;", ", ")
            rows.append(
                f'<tr><th scope="row" style="{CELL};font-weight:normal">{chapter:02d}</th>'
                f'<td style="{CELL};width:40%"><span role="img" aria-label="{says} passed, '
                f'{tried} tried" style="display:flex;gap:2px">{bar}</span></td>'
                f'<td style="{CELL}">{says}{left}</td></tr>'
            )
        heads = "".join(
            f'<th scope="col" style="{CELL}">{head}</th>'
            for head in ("chapter", "exercises", "passed")
        )
        return (
            f'<table style="width:100%;margin:.3em 0"><thead><tr>{heads}</tr></thead>'
            f"<tbody>{''.join(rows)}</tbody></table>"
            '<p style="margin:0;font-size:.9em">Full is passed, half is tried.</p>'
        )


def _cell(row: Row) -> str:
    """Return an exercise's part of the bar: filled, half or empty, and named under the pointer."""
    inside = {"passed": "#2e8540", "tried": "linear-gradient(to top,#c05717 50%,transparent 50%)"}
    return (
        f'<span title="{row.name}: {row.state}" style="flex:1;height:1em;border:1px solid #808080;'
        f'background:{inside.get(row.state, "transparent")}"></span>'
    )


def _left(rows: list[Row]) -> str:
    minutes = sum(row.minutes for row in rows if row.state != "passed")
    return f", {duration(minutes)} left" if minutes else ""


def duration(minutes: int) -> str:
    """Return minutes as hours and minutes."""
    hours, rest = divmod(minutes, 60)
    if not hours:
        return f"{rest} min"
    return f"{hours} h {rest} min" if rest else f"{hours} h"
