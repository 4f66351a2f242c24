"""A question that a guess answers: what is asked, and where its answer is printed or recorded.

In a chapter's source it is the header of the cell that asks, as in

    # %% guess={"name": "14.ink", "kind": "number", "asks": "Share of the weight on ink?",
    #           "low": 0, "high": 1, "reads": "inked patches {}"}      (on one line)
    guess("14.ink")

The answer is never written there. A template `reads` finds it in what the next cells print: `{}` is
the number, `{x}` the place on a curve's axis, `{_}` whatever else stands on that line. A dict
`reads` finds it in a record: {"record": name, "where": {...}, "value": field}, for a curve with
"by": field; over several rows the mean is taken.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

KINDS = ("number", "choice", "order", "curve")
TAKES = {"choice": ("largest", "smallest", "printed"), "order": ("ascending", "descending")}
_NUMBER = r"([-−+]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?|inf|nan)"
_PART = re.compile(r"\{(|x|_)\}|(\s+)")
Given = float | str | list[str] | list[float]


@dataclass(frozen=True)
class Question:
    """A question and the scale or the options of its answer.

    Attributes:
        name: The chapter's number and a word, "14.ink".
        kind: One of `KINDS`.
        asks: A sentence that ends with a question mark.
        reads: Where the answer is found, for a number and for a curve; see this file's head.
        low, high: The ends of a number's scale, or of a curve's upward axis.
        log: True if that scale is logarithmic.
        unit: What is counted or measured, written behind numbers.
        options: For a choice or an order, the words of each option and where its number is found
            (or, with `take` "printed", a text that is printed if it is the right one).
        take: Which option is right, or which order; see `TAKES`.
        x: A curve's places, from left to right.
        across: What they are.
        varied: Names in braces of `asks` and their values, one set for each time it is asked;
            `becomes` is then the answer as a formula in these names.
        becomes: A formula, "2 * n * n".
    """

    name: str
    kind: str
    asks: str
    reads: str | Mapping[str, Any] = ""
    low: float = 0.0
    high: float = 1.0
    log: bool = False
    unit: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    take: str = ""
    x: Sequence[float] = ()
    across: str = ""
    varied: Sequence[Mapping[str, float]] = ()
    becomes: str = ""

    def __post_init__(self) -> None:
        """Raise ValueError for what no guess could answer."""
        problem = next(_problems(self), None)
        if problem:
            raise ValueError(f"guess {self.name}: {problem}")

    @property
    def chapter(self) -> int:
        """The chapter's number."""
        return int(self.name[:2])

    def posed(self, times: int) -> "Question":
        """Return the question as it is asked after some earlier times, perhaps in other numbers."""
        if not self.varied:
            return self
        numbers = self.varied[times % len(self.varied)]
        asks = self.asks.format(**{name: f"{value:,}" for name, value in numbers.items()})
        return Question(**{**vars(self), "asks": asks, "varied": ()})


def _problems(q: Question) -> Any:
    if not re.fullmatch(r"\d\d\.\w+", q.name):
        yield 'the name must be a chapter\'s number and a word, as in "03.share"'
    if q.kind not in KINDS:
        yield f"kind must be one of {', '.join(KINDS)}, got {q.kind!r}"
    if not q.asks.rstrip().endswith("?"):
        yield f"asks must be a question, got {q.asks!r}"
    if q.kind in TAKES:
        if q.take not in TAKES[q.kind]:
            yield f"take must be one of {', '.join(TAKES[q.kind])}, got {q.take!r}"
        if not 2 <= len(q.options) <= 6:
            yield f"there must be two to six options, got {len(q.options)}"
        return
    if not q.reads and not q.becomes:
        yield "reads must say where the answer is printed or recorded"
    if not q.low < q.high or (q.log and q.low <= 0):
        yield f"low must be below high (and above 0 if log), got {q.low} and {q.high}"
    if q.kind == "curve" and not (2 <= len(q.x) <= 12 and list(q.x) == sorted(set(q.x))):
        yield f"x must be two to twelve places from left to right, got {list(q.x)}"


def truth(question: Question, printed: str) -> Given:
    """Return what was measured.

    Args:
        question: What is asked.
        printed: What the cells that measure it print.

    Returns:
        A number; an option; the options in order; or a number for each place of a curve.

    Raises:
        LookupError: It is not there.
    """
    if question.kind == "number":
        return _numbers(question.reads, printed)[0]
    if question.kind == "curve":
        points = _points(question.reads, printed)
        missing = [x for x in question.x if x not in points]
        if missing:
            raise LookupError(f"no number is found at {missing}, only at {sorted(points)}")
        return [points[x] for x in question.x]
    if question.take == "printed":
        found = [words for words, text in question.options.items() if _found(text, printed)]
        if len(found) != 1:
            raise LookupError(f"exactly one option must be printed, got {found}")
        return found[0]
    sizes = {words: _numbers(where, printed)[0] for words, where in question.options.items()}
    ordered = sorted(sizes, key=lambda words: sizes[words])
    if len(set(sizes.values())) < len(sizes):
        raise LookupError(f"two options have the same number: {sizes}")
    if question.kind == "choice":
        return ordered[-1 if question.take == "largest" else 0]
    return ordered if question.take == "ascending" else ordered[::-1]


def varied_truth(question: Question, times: int) -> float:
    """Return the answer to a question in the numbers of its next time."""
    return float(_value(question.becomes, question.varied[times % len(question.varied)]))


def _value(formula: str, numbers: Mapping[str, float]) -> float:
    """Return a formula's value; it comes from the chapter's source."""
    names = {"__builtins__": {}, **vars(math), "min": min, "max": max, **numbers}
    return float(eval(formula, names))


def _found(text: str, printed: str) -> bool:
    return bool(_pattern(text).search(printed))


def _numbers(where: str | Mapping[str, Any], printed: str) -> list[float]:
    if isinstance(where, str):
        found = [match[1] for match in _pattern(where).finditer(printed)]
        if not found:
            raise LookupError(f"nothing printed looks like {where!r}")
        return [_float(text) for text in found]
    rows = _rows(where)
    return [fmean(float(row[where["value"]]) for row in rows)]


def _points(where: str | Mapping[str, Any], printed: str) -> dict[float, float]:
    if isinstance(where, str):
        order = [1, 2] if where.find("{x}") < where.find("{}") else [2, 1]
        found = [[_float(match[i]) for i in order] for match in _pattern(where).finditer(printed)]
        if not found:
            raise LookupError(f"nothing printed looks like {where!r}")
        return dict(reversed(found))  # type: ignore[arg-type]  # of two at one place, the first
    values: dict[float, list[float]] = {}
    for row in _rows(where):
        values.setdefault(float(row[where["by"]]), []).append(float(row[where["value"]]))
    return {x: fmean(numbers) for x, numbers in values.items()}


def _rows(where: Mapping[str, Any]) -> list[dict[str, Any]]:
    from course_utils.measure.record import read_record  # which loads torch

    about = dict(where.get("where", {}))
    rows: list[dict[str, Any]] = read_record(where["record"])[where.get("rows", "runs")]
    found = [row for row in rows if all(row.get(key) == value for key, value in about.items())]
    if not found:
        raise LookupError(f"the record {where['record']} has no row with {about}")
    return found


def _pattern(template: str) -> re.Pattern[str]:
    """Return what finds a template: spaces are any spaces, {} and {x} numbers, {_} anything."""
    text, at = "", 0
    for part in _PART.finditer(template):
        text += re.escape(template[at : part.start()])
        text += r"\s+" if part[2] else r"[^\n]*?" if part[1] == "_" else _NUMBER
        at = part.end()
    return re.compile(text + re.escape(template[at:]))


def _float(text: str) -> float:
    return float(text.replace(",", "").replace("−", "-"))
