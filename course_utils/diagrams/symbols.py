"""The symbols of the course's diagrams: boxes, arrows with shapes on them, letters, tables.

A diagram is inline SVG, so that its ink is the page's own colour (`currentColor`), light or dark.
Lengths are units of the drawing, which is 440 wide; on a phone of 390 px a unit is 0.8 px.
"""

import html
import re
from collections.abc import Sequence
from itertools import pairwise

WIDTH, SHOWN, PHONE = 440, 540, 342  # units; px at most; px of a column on a phone of 390
LETTER, SMALL, SUB = 15, 13.5, 12.3  # sizes of type: names, shapes, subscripts
ACCENTS = {"blue": "#3b82c4", "orange": "#cf6a17"}  # 3:1 and more on white and on near black
_SUBSCRIPT = re.compile(r"(?<=\w)_([A-Za-z0-9−]+)")
Point = tuple[float, float]


class Diagram:
    """One diagram: symbols are added in the order in which they are drawn.

    Args:
        title: Its caption, a sentence.
        words: The same as the picture in words, for whoever does not see it.
        height: Of the drawing.
    """

    def __init__(self, title: str, words: str, height: float) -> None:
        self.title, self.words, self.height = title, " ".join(words.split()), height
        self.parts: list[str] = []

    def box(
        self, x: float, y: float, w: float, h: float, text: str = "", accent: str = "",
        dashed: bool = False, behind: int = 0, size: float = LETTER,
    ) -> None:  # fmt: skip
        """Draw a box with its name; `behind` further ones show that there are several."""
        style = f' stroke="{ACCENTS[accent]}" fill="{ACCENTS[accent]}"' if accent else ""
        style += ' fill-opacity="0.16"' if accent else ""
        style += ' stroke-dasharray="5 4"' if dashed else ""
        for back in range(behind, 0, -1):
            shift = 5 * back
            edge = f"M{x + shift} {y - shift}h{w}v{h}h-5v{5 - h}h{5 - w}z"
            self.parts.append(f'<path d="{edge}"{style}/>')
        self.parts.append(f'<rect x="{x}" y="{y}" width="{w}" height="{h}" rx="4"{style}/>')
        self.text(x + w / 2, y + h / 2, text, "middle", size)

    def text(
        self, x: float, y: float, text: str, anchor: str = "start", size: float = SMALL,
        bold: bool = False,
    ) -> None:  # fmt: skip
        """Write lines whose block is centred at the height y; `d_k` gets its subscript."""
        lines = text.split("\n") if text else []
        weight = ' font-weight="600"' if bold else ""
        for number, line in enumerate(lines):
            down = y + size * (0.35 + 1.25 * (number - (len(lines) - 1) / 2))
            self.parts.append(
                f'<text x="{x:g}" y="{down:g}" text-anchor="{anchor}" font-size="{size:g}"'
                f'{weight} fill="currentColor" stroke="none">{_lowered(line)}</text>'
            )  # fmt: skip

    def arrow(
        self, *points: Point, label: str = "", side: str = "right", accent: str = "",
        leg: int = -1, dashed: bool = False, head: bool = True,
    ) -> None:  # fmt: skip
        """Draw an arrow through points, with the shape of what it carries beside one leg.

        Args:
            *points: Corners, from the beginning to the tip.
            label: The shape.
            side: "right" or "left" of an upright leg, "above" or "below" a level one.
            accent: Colour of the line.
            leg: Which leg the label stands at; the longest if -1.
            dashed: Whether the line is dashed.
            head: Whether it has a tip.
        """
        style = f' stroke="{ACCENTS[accent]}"' if accent else ""
        dash = ' stroke-dasharray="5 4"' if dashed else ""
        line = "L".join(f"{x:g} {y:g}" for x, y in points)
        self.parts.append(f'<path d="M{line}"{style}{dash}/>')
        if head:
            (x0, y0), (x1, y1) = points[-2:]
            long = ((x1 - x0) ** 2 + (y1 - y0) ** 2) ** 0.5
            dx, dy = 6 * (x1 - x0) / long, 6 * (y1 - y0) / long
            tip = f"M{x1 - dx - dy / 2:.1f} {y1 - dy + dx / 2:.1f}L{x1:g} {y1:g}"
            tip += f"L{x1 - dx + dy / 2:.1f} {y1 - dy - dx / 2:.1f}"
            self.parts.append(f'<path d="{tip}"{style}/>')
        if label:
            legs = list(pairwise(points))
            ends = max(legs, key=lambda leg: _length(*leg)) if leg < 0 else legs[leg]
            self._beside(*ends, label, side)

    def _beside(self, begin: Point, end: Point, label: str, side: str) -> None:
        x, y = (begin[0] + end[0]) / 2, (begin[1] + end[1]) / 2
        half = SMALL * (0.3 + 0.625 * label.count("\n"))
        places = {
            "right": (x + 7, y, "start"), "left": (x - 7, y, "end"),
            "above": (x, y - 8 - half, "middle"), "below": (x, y + 8 + half, "middle"),
        }  # fmt: skip
        across, down, anchor = places[side]
        self.text(across, down, label, anchor)

    def join(self, x: float, y: float, sign: str, r: float = 11) -> None:
        """Draw a circle where two arrows meet, with what is done there."""
        self.parts.append(f'<circle cx="{x:g}" cy="{y:g}" r="{r:g}"/>')
        self.text(x, y, sign, "middle", LETTER)

    def table(self, x: float, y: float, rows: Sequence[str], cell: float) -> None:
        """Draw a table of cells, a letter each: "b" is blue, "o" orange, "." empty."""
        for row, letters in enumerate(rows):
            for column, letter in enumerate(letters):
                accent = {"b": "blue", "o": "orange"}.get(letter)
                fill = f' fill="{ACCENTS[accent]}" fill-opacity="0.5"' if accent else ""
                place = f'x="{x + column * cell:g}" y="{y + row * cell:g}"'
                size = f'width="{cell:g}" height="{cell:g}"'
                self.parts.append(f'<rect {place} {size}{fill} stroke-width="0.8"/>')

    def svg(self) -> str:
        """Return the drawing, with its words as text alternative."""
        return (
            f'<svg viewBox="0 0 {WIDTH} {self.height:g}" role="img" '
            f'aria-label="{html.escape(self.words)}" '
            f'style="display:block;width:100%;max-width:{SHOWN}px;height:auto;font-family:inherit" '
            'fill="none" stroke="currentColor" stroke-width="1.4">'
            f"{''.join(self.parts)}</svg>"
        )

    def __repr__(self) -> str:
        return f"{self.title}\n{self.words}"

    def _repr_html_(self) -> str:
        caption = '<figcaption style="color:inherit;font-weight:600;text-align:left">'
        return (
            '<figure class="course-diagram" style="margin:.5em 0 1em;text-align:left">'
            f"{self.svg()}{caption}{html.escape(self.title)}</figcaption></figure>"
        )


def _length(begin: Point, end: Point) -> float:
    return abs(end[0] - begin[0]) + abs(end[1] - begin[1])


def _lowered(text: str) -> str:
    """Return a line as SVG; what follows an underscore is set lower and smaller."""
    pieces: Sequence[str] = _SUBSCRIPT.split(html.escape(text, quote=False))
    found, back = "", ""
    for number, piece in enumerate(pieces):
        if number % 2:
            found += f'<tspan dy="3.5" font-size="{SUB}">{piece}</tspan>'
            back = "-3.5"
        elif piece:
            found += f'<tspan dy="{back}">{piece}</tspan>' if back else piece
            back = ""
    return found
