"""A verdict as a learner sees it: a card in Jupyter, plain text elsewhere."""

import html
import re
from dataclasses import dataclass

from course_utils.checking.picture import Picture

STATUSES = {
    "passed": "Passed",
    "not_attempted": "Not attempted yet",
    "unknown": "There is nothing to judge",
    "crashed": "It stopped with an error",
    "wrong_type": "The wrong kind of result",
    "wrong_shape": "The wrong shape",
    "changed_input": "It changed something outside itself",
    "no_gradient": "The gradient is lost or wrong",
    "too_costly": "Right values, but too costly",
    "misconception": "Not yet",
    "broken_property": "Not yet",
    "different": "Not yet",
}
CELL = "text-align:left;padding:.1em .7em .1em 0"  # of a table inside a card
_COLOURS = {"passed": "#2e8540", "not_attempted": "#767676", "unknown": "#767676"}
_MARKS = {"passed": "✓", "not_attempted": "○", "unknown": "?"}


class NotPassedError(ValueError):
    """An answer that had to pass did not."""


@dataclass(frozen=True)
class Report:
    """The verdict on one answer.

    Attributes:
        exercise: The exercise's name.
        status: One of the keys of STATUSES.
        says: What a learner reads.
        misconceptions: The names of the mistakes that were recognised: none, one, or two made
            together.
        case: What was special about the inputs on which it failed.
        note: What else was noticed, though it decided nothing; and the calls that help.
        picture: What the answer returned there, with the cells that differ marked.
    """

    exercise: str
    status: str
    says: str
    misconceptions: tuple[str, ...] = ()
    case: str | None = None
    note: str | None = None
    picture: Picture | None = None

    @property
    def misconception(self) -> str | None:
        """The name of the mistake, or of the first of two."""
        return self.misconceptions[0] if self.misconceptions else None

    @property
    def passed(self) -> bool:
        """True if the answer is right."""
        return self.status == "passed"

    def require(self) -> None:
        """Raise NotPassedError with the verdict's text unless the answer passed (for graders)."""
        if not self.passed:
            raise NotPassedError(str(self))

    @property
    def headline(self) -> str:
        """The verdict in a few words."""
        words = STATUSES[self.status]
        return f"{words}: {', and '.join(self.misconceptions)}" if self.misconceptions else words

    @property
    def _seen(self) -> str:
        return f"Seen with: {self.case}." if self.case else ""

    def __str__(self) -> str:
        head = f"{self.exercise}: {self.headline}"
        parts = (head, self.says, self._seen, self.picture, self.note)
        return "\n".join(str(part) for part in parts if part)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return card(
            title=f"{_MARKS.get(self.status, '✗')} {self.headline}",
            label=self.exercise,
            paragraphs=self.says.split("\n\n"),
            small=[self._seen, *(self.note or "").split("\n")],
            colour=_COLOURS.get(self.status, "#c05717"),
            below=self.picture.html() if self.picture else "",
        )


def card(
    title: str,
    label: str,
    paragraphs: list[str],
    small: list[str] | None = None,
    colour: str = "#3b78b5",
    code: str = "",
    below: str = "",
) -> str:
    """Return a card as HTML that takes its text colour and background from the page around it.

    `below` is HTML already; all else is text.
    """
    mark, _, words = title.partition(" ")
    chip = f" &nbsp;<code>{inline_html(label)}</code>" if label else ""
    parts = [
        f'<div style="border:1px solid {colour};border-left-width:.5em;border-radius:.3em;'
        'padding:.6em 1em;margin:.3em 0;max-width:46em;line-height:1.5">',
        f'<p style="margin:0 0 .35em"><strong><span aria-hidden="true">{inline_html(mark)} </span>'
        f"{inline_html(words)}</strong>{chip}</p>",
    ]
    for text in paragraphs:
        lines = "<br>".join(inline_html(line) for line in text.split("\n"))
        parts.append(f'<p style="margin:0 0 .35em">{lines}</p>')
    if code:
        parts.append(f'<pre style="overflow-x:auto" tabindex="0">{html.escape(code)}</pre>')
    for text in filter(None, small or []):
        parts.append(f'<p style="margin:0;font-size:.9em">{inline_html(text)}</p>')
    return "".join([*parts, below, "</div>"])


def inline_html(text: str) -> str:
    """Return text as HTML; what is between backticks becomes code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(text, quote=False))
