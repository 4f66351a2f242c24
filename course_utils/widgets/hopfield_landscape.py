"""The picture of chapter 15: patterns in the plane, and a state that walks down their energy."""

import math
from collections.abc import Sequence
from typing import Any

import anywidget
import traitlets

from course_utils.plain_validation import check_instance, check_int, check_number
from course_utils.widgets._assets import module, style

LIMIT, MOST, RADIUS = 2.0, 6, 1.5
_ORDER = (1, 5, 9, 3, 7, 11)
Place = Sequence[float]


class HopfieldLandscape(anywidget.AnyWidget):
    """The widget that ``hopfield_landscape`` makes; its traits follow handles and sliders."""

    _esm = module("hopfield_landscape.js")
    _css = style("hopfield_landscape.css")

    patterns: "traitlets.List[list[float]]" = traitlets.List(
        help="For each pattern its two coordinates."
    ).tag(sync=True)
    count = traitlets.Int(help="How many of the patterns are stored: the first ones.").tag(
        sync=True
    )
    start: "traitlets.List[float]" = traitlets.List(help="Where the walk starts.").tag(sync=True)
    beta = traitlets.Float(help="What the products are multiplied by.").tag(sync=True)
    as_attention = traitlets.Bool(False, help="Whether the words are attention's.").tag(sync=True)

    @traitlets.validate("patterns")
    def _patterns(self, proposal: dict[str, Any]) -> list[list[float]]:
        given = proposal["value"]
        if not 1 <= len(given) <= MOST:
            raise ValueError(f"patterns must be from 1 to {MOST}, got {len(given)}")
        return [_place("each pattern", place) for place in given]

    @traitlets.validate("start")
    def _start(self, proposal: dict[str, Any]) -> list[float]:
        return _place("start", proposal["value"])

    @traitlets.validate("count")
    def _count(self, proposal: dict[str, Any]) -> int:
        value = int(proposal["value"])
        if not 1 <= value <= len(self.patterns):
            raise ValueError(f"count must be from 1 to {len(self.patterns)}, got {value}")
        return value

    @traitlets.validate("beta")
    def _sharpness(self, proposal: dict[str, Any]) -> float:
        value = float(proposal["value"])
        if not 0.1 <= value <= 100:
            raise ValueError(f"beta must be from 0.1 to 100, got {value}")
        return value

    def __repr__(self) -> str:
        """Say the settings; the same in every run."""
        return (
            f"HopfieldLandscape({self.count} of {len(self.patterns)} patterns, "
            f"beta={self.beta:g}, start={self.start}, as_attention={self.as_attention})"
        )


def _place(name: str, place: Place) -> list[float]:
    """Return the two coordinates as floats; raise where they are not two inside the plane."""
    if len(place) != 2 or not all(abs(entry) <= LIMIT for entry in place):
        raise ValueError(
            f"{name} must have two coordinates from {-LIMIT:g} to {LIMIT:g}, got {list(place)}"
        )
    return [float(entry) for entry in place]


def hopfield_landscape(
    patterns: Sequence[Place] | None = None,
    *,
    start: Place = (0.3, 0.4),
    beta: float = 4.0,
    count: int | None = None,
    as_attention: bool = False,
) -> HopfieldLandscape:
    """Show the energy of a modern Hopfield network with two-dimensional patterns, and its updates.

    Args:
        patterns: From one to six places with coordinates from -2 to 2. Six on a circle, an order in
            which the first three are evenly spread, where they are left out.
        start: The state before the first update.
        beta: From 0.1 to 100; one slider's step is a tenth of a power of ten.
        count: How many of the patterns are stored at first: all of a reader's own, or three.
        as_attention: True names the same step as attention: query, keys, values, scale.

    Raises:
        TypeError: An argument is not of the kind named above.
        ValueError: An argument is out of its range.
    """
    shown = 3 if patterns is None else len(patterns)
    count = shown if count is None else count
    check_int(count=count)
    check_number(beta=beta)
    check_instance(bool, as_attention=as_attention)
    return HopfieldLandscape(
        patterns=[list(place) for place in (circle() if patterns is None else patterns)],
        count=count,
        start=list(start),
        beta=float(beta),
        as_attention=as_attention,
    )


def circle() -> list[tuple[float, float]]:
    """Return six places on a circle; the first three make a triangle."""
    angles = [math.pi * twelfths / 6 for twelfths in _ORDER]
    return [(RADIUS * math.cos(a), RADIUS * math.sin(a)) for a in angles]
