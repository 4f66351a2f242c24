"""A picture of what an answer returned, as a small grid in which the cells that differ are marked.

It shows the answer's own numbers alone, never the right ones.
"""

import html
import inspect
import typing
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any

import torch
from torch import Tensor

from course_utils.checking.compare import kind_problem, wrong_entries

MOST = 12  # rows and columns


@dataclass(frozen=True)
class Picture:
    """Part of a table.

    Attributes:
        words: What it shows, in a sentence.
        rows: The numbers of the rows shown.
        columns: The numbers of the columns shown.
        cells: The text in each cell.
        wrong: Which of the cells differ from what is right.
    """

    words: str
    rows: tuple[int, ...]
    columns: tuple[int, ...]
    cells: tuple[tuple[str, ...], ...]
    wrong: tuple[tuple[bool, ...], ...]

    def __str__(self) -> str:
        marked = [
            [f"[{cell}]" if bad else f" {cell} " for cell, bad in zip(*pair, strict=True)]
            for pair in zip(self.cells, self.wrong, strict=True)
        ]
        width = max(len(cell) for row in marked for cell in row)
        lines = ["".join(cell.rjust(width) for cell in row) for row in marked]
        return "\n".join([self.words, *lines])

    def html(self) -> str:
        """Return the grid as a table; a cell that differs has a frame and a cross."""
        head = "".join(f'<th scope="col" style="{_CELL}">{n}</th>' for n in self.columns)
        body = "".join(self._row(at) for at in range(len(self.rows)))
        return (
            f'<p style="margin:0;font-size:.9em">{html.escape(self.words)}</p>'
            '<div style="overflow-x:auto;max-width:100%" tabindex="0" role="group" '
            'aria-label="What the answer returned"><table style="border-collapse:separate;'
            'border-spacing:2px;margin:.3em 0;font-size:.85em;width:auto">'
            f"<thead><tr><td></td>{head}</tr></thead><tbody>{body}</tbody></table></div>"
        )

    def _row(self, at: int) -> str:
        cells = "".join(
            f'<td style="{_CELL}{_WRONG if bad else _SAME}">{html.escape(cell)}'
            + ('&nbsp;<span role="img" aria-label="differs">✗</span></td>' if bad else "</td>")
            for cell, bad in zip(self.cells[at], self.wrong[at], strict=True)
        )
        return f'<tr><th scope="row" style="{_CELL}">{self.rows[at]}</th>{cells}</tr>'


_CELL = "padding:.1em .4em;text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap;"
_WRONG = "border:2px solid #c05717;font-weight:bold"
_SAME = "border:1px solid #8886"


def picture(
    reference: Callable[..., Any], got: Any, want: Any, parts: Sequence[str] = ()
) -> Picture | None:
    """Return a picture of a result that is a mask, a table of weights, a bias or positions.

    Of several results it is the first that is one and differs; `parts` has their names.
    """
    made = inspect.signature(reference, eval_str=True).return_annotation
    several = typing.get_origin(made) is tuple
    kinds = typing.get_args(made) if several else (made,)
    if several and not (isinstance(got, tuple) and len(got) == len(kinds) == len(want)):
        return None
    pairs = zip(got, want, strict=True) if several else ((got, want),)
    names = (f" as {part}" for part in parts) if parts and several else repeat("")
    for kind, name, (one, other) in zip(kinds, names, pairs, strict=False):
        if _is_table(kind) and kind_problem(one, other) is None:
            wrong = wrong_entries(one, other)
            if one.dim() and bool(wrong.any()):
                return _drawn(name, one.detach(), wrong)
    return None


def _is_table(kind: Any) -> bool:
    if not hasattr(kind, "dim_str") or not isinstance(kind.dtypes, list | tuple):
        return False  # no tensor, or one of any dtype
    whole = "float64" not in kind.dtypes
    return whole or kind.dim_str.split()[-2:] == ["L", "S"]


def _drawn(name: str, got: Tensor, wrong: Tensor) -> Picture:
    first = [int(i) for i in wrong.nonzero()[0]]
    leading = tuple(first[:-2])
    table, marks = got[leading], wrong[leading]
    if table.dim() == 1:
        table, marks, first = table.unsqueeze(0), marks.unsqueeze(0), [0, *first]
    rows = _window(first[-2], table.shape[0])
    columns = _window(first[-1], table.shape[1])
    where = f" at index {list(leading)}" if leading else ""
    part = "" if table.shape == (len(rows), len(columns)) else ", in part"
    return Picture(
        f"What your function returned{name}{where}{part}. {_counted(marks)}",
        tuple(rows),
        tuple(columns),
        tuple(tuple(_shown(table[r, c]) for c in columns) for r in rows),
        tuple(tuple(bool(marks[r, c]) for c in columns) for r in rows),
    )


def _counted(marks: Tensor) -> str:
    if bool(marks.all()):
        return "Every cell differs."
    places = [
        f"row {row} at {', '.join(str(int(c)) for c in marks[row].nonzero().flatten()[:MOST])}"
        for row in marks.any(-1).nonzero().flatten().tolist()[:4]
    ]
    more = ", and more" if int(marks.any(-1).sum()) > len(places) else ""
    return (
        f"{int(marks.sum())} of {marks.numel()} cells differ, in brackets or marked ✗: "
        f"{'; '.join(places)}{more}."
    )


def _window(first: int, length: int) -> range:
    start = max(0, min(first - MOST // 2, length - MOST))
    return range(start, min(length, start + MOST))


def _shown(cell: Tensor) -> str:
    if cell.dtype == torch.bool:
        return "T" if bool(cell) else "F"
    return str(cell.item()) if not cell.is_floating_point() else f"{float(cell):.2g}"
