"""The picture of chapter 07: pairs of features turn like clocks, and q·k keeps the distance."""

import math
from collections.abc import Sequence

import traitlets

from course_utils.widgets.traits import Choice, CourseWidget, Whole

PAIRINGS = ("interleaved", "split halves")
"""The names of `positions.Pairing`, without the torch that it comes with."""
LAST = 63
"""The last position that the sliders reach."""
QUERY = (1.0, 0.3, 0.8, -0.5, 0.9, 0.2, 0.6, 0.7)
KEY = (0.9, 0.4, 0.3, 0.9, 0.7, -0.4, 0.5, 0.8)


class RopeClock(CourseWidget, page="rope_clock"):
    """The widget that ``rope_clock`` makes; its traits follow the controls."""

    query = traitlets.List(traitlets.Float(), help="The query before it is turned.")
    key = traitlets.List(traitlets.Float(), help="The key before it is turned.")
    query_position = Whole(0, 0, LAST, help="Where the query stands.")
    key_position = Whole(0, 0, LAST, help="Where the key stands.")
    pairing = Choice(PAIRINGS, help="Which features form a pair.")
    pair = Whole(0, 0, lambda self: len(self.query) // 2 - 1, help="The pair that is described.")
    base = traitlets.Float(help="The base of the frequencies.")
    last = traitlets.Int(LAST, help="The last position.")

    def __repr__(self) -> str:
        return (
            f"RopeClock(query at {self.query_position}, key at {self.key_position}, "
            f"{len(self.query) // 2} pairs, {self.pairing})"
        )


def rope_clock(
    query: Sequence[float] = QUERY,
    key: Sequence[float] = KEY,
    *,
    query_position: int = 6,
    key_position: int = 2,
    base: float = 1000.0,
    pairing: str = "interleaved",
) -> RopeClock:
    """Show a query and a key under RoPE: one clock per pair, and q·k at every distance.

    Args:
        query: Features before they are turned, of even number and at most eight.
        key: As many features.
        query_position: Where the query stands first, from 0 to 63.
        key_position: Where the key stands first.
        base: Of the frequencies. The default is below the usual 10,000, with which the last of
            four clocks would hardly move.
        pairing: "interleaved" or "split halves".

    Raises:
        ValueError: The vectors are not of one even width up to 8.
    """
    vectors = [[float(x) for x in vector] for vector in (query, key)]
    sizes = [len(vector) for vector in vectors]
    if sizes[0] != sizes[1] or sizes[0] not in (2, 4, 6, 8):
        raise ValueError(f"query and key must have one even width from 2 to 8, got {sizes}")
    if not all(map(math.isfinite, [*vectors[0], *vectors[1]])):
        raise ValueError("query and key must be finite")
    if not (base > 0 and math.isfinite(base)):
        raise ValueError(f"base must be a positive number, got {base}")
    return RopeClock(
        query=vectors[0],
        key=vectors[1],
        query_position=query_position,
        key_position=key_position,
        base=float(base),
        pairing=pairing,
    )
