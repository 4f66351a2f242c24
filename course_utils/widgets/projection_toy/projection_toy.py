"""The picture of chapter 04: queries, keys and values in the plane, and who attends to whom."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import traitlets

from course_utils.widgets.traits import CourseWidget, Index, Items

LIMIT, FARTHEST, MOST = 2.0, 1.5, 8
_ROLES = ("w_query", "w_key", "w_value")
_WEEK = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_SAME = ((1.0, 0.0), (0.0, 1.0))
Matrix = Sequence[Sequence[float]]


class ProjectionToy(CourseWidget, page="projection_toy"):
    """The widget that ``projection_toy`` makes; its traits follow the handles."""

    tokens = traitlets.List(traitlets.Unicode(), help="Names of the tokens.")
    points = Items(help="For each token its two coordinates.")
    w_query = Items(help="W_Q, two rows.")
    w_key = Items(help="W_K, two rows.")
    w_value = Items(help="W_V, two rows.")
    query = Index(0, 0, lambda self: len(self.tokens) - 1, help="The token whose row is drawn.")

    @traitlets.validate(*_ROLES)
    def _matrix(self, proposal: dict[str, Any]) -> list[list[float]]:
        name, given = proposal["trait"].name, proposal["value"]
        rows = [[float(entry) for entry in row] for row in given]
        if [len(row) for row in rows] != [2, 2]:
            raise ValueError(f"{name} must have two rows of two numbers, got {given}")
        if not all(abs(entry) <= LIMIT for row in rows for entry in row):
            raise ValueError(f"{name} must have entries from -2 to 2, got {given}")
        return rows

    def __repr__(self) -> str:
        matrices = ", ".join(f"{name}={getattr(self, name)}" for name in _ROLES)
        return f"ProjectionToy({len(self.tokens)} tokens, {matrices}, query={self.query})"


def projection_toy(
    points: Mapping[str, Sequence[float]] | None = None,
    *,
    w_query: Matrix = _SAME,
    w_key: Matrix = _SAME,
    w_value: Matrix = _SAME,
    query: int = 0,
) -> ProjectionToy:
    """Show one head with d_model = d_k = d_v = 2 whose three matrices can be dragged.

    Args:
        points: For each token its place in the plane, at most 1.5 from the centre; from two to
            eight tokens. The days of the week on a circle, clockwise, where it is left out.
        w_query: W_Q, applied as x @ W_Q; entries from -2 to 2.
        w_key: W_K.
        w_value: W_V.
        query: The token whose row of weights is drawn first.
    """
    points = week() if points is None else points
    if not 2 <= len(points) <= MOST:
        raise ValueError(f"points must hold from 2 to {MOST} tokens, got {len(points)}")
    for name, place in points.items():
        if len(place) != 2 or not math.hypot(*place) <= FARTHEST + 1e-9:
            raise ValueError(
                f"each point must have two coordinates and lie within {FARTHEST}, "
                f"got {list(place)} for {name}"
            )
    return ProjectionToy(
        tokens=list(points),
        points=[[float(entry) for entry in place] for place in points.values()],
        w_query=[list(row) for row in w_query],
        w_key=[list(row) for row in w_key],
        w_value=[list(row) for row in w_value],
        query=query,
    )


def week() -> dict[str, tuple[float, float]]:
    """Return the days of the week on a circle, Monday on top, clockwise."""
    angles = {day: 2 * math.pi * i / len(_WEEK) for i, day in enumerate(_WEEK)}
    return {day: (FARTHEST * math.sin(a), FARTHEST * math.cos(a)) for day, a in angles.items()}
