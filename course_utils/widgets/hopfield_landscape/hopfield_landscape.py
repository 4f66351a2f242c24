"""The picture of chapter 15: patterns in the plane, and a state that walks down their energy."""

import math
from collections.abc import Sequence
from typing import Any

import traitlets

from course_utils.widgets.traits import CourseWidget, Flag, Items, Number, Whole

LIMIT, MOST, RADIUS = 2.0, 6, 1.5
_ORDER = (1, 5, 9, 3, 7, 11)
Place = Sequence[float]


class HopfieldLandscape(CourseWidget, page="hopfield_landscape"):
    """The widget that ``hopfield_landscape`` makes; its traits follow handles and sliders."""

    patterns = Items(help="For each pattern its two coordinates.")
    count = Whole(
        0, 1, lambda self: len(self.patterns), help="How many are stored: the first ones."
    )
    start = Items(help="Where the walk starts.")
    beta = Number(0.0, 0.1, 100, help="What the products are multiplied by.")
    as_attention = Flag(False, help="Whether the words are attention's.")

    @traitlets.validate("patterns")
    def _patterns(self, proposal: dict[str, Any]) -> list[list[float]]:
        given = proposal["value"]
        if not 1 <= len(given) <= MOST:
            raise ValueError(f"patterns must be from 1 to {MOST}, got {len(given)}")
        return [_place("each pattern", place) for place in given]

    @traitlets.validate("start")
    def _start(self, proposal: dict[str, Any]) -> list[float]:
        return _place("start", proposal["value"])

    def __repr__(self) -> str:
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
        patterns: From one to six places with coordinates from -2 to 2. By default six on a circle,
            ordered so that the first three are evenly spread.
        start: The state before the first update.
        beta: From 0.1 to 100; one slider's step is a tenth of a power of ten.
        count: How many of the patterns are stored at first: all of a reader's own, or three.
        as_attention: True names the same step as attention: query, keys, values, scale.
    """
    shown = 3 if patterns is None else len(patterns)
    count = shown if count is None else count
    return HopfieldLandscape(
        patterns=[list(place) for place in (circle() if patterns is None else patterns)],
        count=count,
        start=list(start),
        beta=beta,
        as_attention=as_attention,
    )


def circle() -> list[tuple[float, float]]:
    """Return six places on a circle; the first three make a triangle."""
    angles = [math.pi * twelfths / 6 for twelfths in _ORDER]
    return [(RADIUS * math.cos(a), RADIUS * math.sin(a)) for a in angles]
