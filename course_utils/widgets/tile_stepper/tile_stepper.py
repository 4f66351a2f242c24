"""The picture of chapter 09: attention walks its table of scores tile by tile."""

import math
from collections.abc import Sequence

import traitlets

from course_utils.widgets.traits import Choice, CourseWidget, Flag, Whole

LARGEST = 8
"""The most queries, keys and rows of a block that the picture shows."""
ORDERS = ("queries outside", "keys outside")

# Scores between -2 and 3 in steps of a half, and maxima that rise in later tiles.
QUERY = (
    (-1, 1, 0, 1), (1, 2, 0, 1), (-1, 2, 1, -1), (2, 2, 0, 2),
    (-1, 0, 0, 0), (2, -1, 2, 2), (-1, 2, 1, 2),
)  # fmt: skip
KEY = (
    (0, 1, 1, 0), (0, -1, 1, -1), (0, 1, 0, 0), (0, 1, 0, 1),
    (-1, 0, 2, 1), (-1, -1, -1, 0), (-1, 1, 1, 1), (-1, -1, 2, 0),
)  # fmt: skip
VALUE = ((1, 0), (2, -1), (0, 3), (-2, 1), (3, 2), (1, -3), (0, 1), (-1, 2))
_ROW = traitlets.List(traitlets.Float())


class TileStepper(CourseWidget, page="tile_stepper"):
    """The widget that ``tile_stepper`` makes; its traits follow the controls."""

    query = traitlets.List(_ROW, help="Queries, (L, d).")
    key = traitlets.List(_ROW, help="Keys, (S, d).")
    value = traitlets.List(_ROW, help="Values, (S, d_v).")
    block_q = Whole(0, 1, LARGEST, help="Queries in a block.")
    block_k = Whole(0, 1, LARGEST, help="Keys in a block.")
    is_causal = Flag(False, help="Whether a query sees no later key.")
    order = Choice(ORDERS, help="Which loop is the outer one.")
    step = Whole(0, 0, help="How many steps were taken.")

    def __repr__(self) -> str:
        causal = ", causal" if self.is_causal else ""
        return (
            f"TileStepper({len(self.query)} queries, {len(self.key)} keys, "
            f"tiles of {self.block_q} x {self.block_k}, {self.order}{causal})"
        )


def tile_stepper(
    query: Sequence[Sequence[float]] = QUERY,
    key: Sequence[Sequence[float]] = KEY,
    value: Sequence[Sequence[float]] = VALUE,
    *,
    block_q: int = 3,
    block_k: int = 3,
    is_causal: bool = False,
    order: str = "queries outside",
    step: int = 2,
) -> TileStepper:
    """Walk through the tiles of one attention: m, l and acc, what is on the chip, what moves.

    Args:
        query: At most eight queries of one width.
        key: At most eight keys of the same width.
        value: A value for each key, all of one width.
        block_q: Queries in a block, from 1 to 8; the last block may be shorter.
        block_k: Keys in a block, likewise.
        is_causal: Query i sees the keys up to i; tiles wholly in the future are skipped.
        order: "queries outside", as in FlashAttention-2, or "keys outside", as in
            FlashAttention-1.
        step: How many steps are taken at first.
    """
    tables = [[[float(x) for x in row] for row in table] for table in (query, key, value)]
    sizes = [(len(table), *sorted({len(row) for row in table})) for table in tables]
    if not all(len(one) == 2 and min(one) >= 1 and one[0] <= LARGEST for one in sizes):
        raise ValueError(f"each table must have 1 to {LARGEST} rows of one width, got {sizes}")
    (_, d_q), (num_keys, d_k), (num_values, _) = sizes
    if d_q != d_k or num_keys != num_values:
        raise ValueError(f"keys must be as wide as queries and as many as values, got {sizes}")
    if not all(math.isfinite(x) for table in tables for row in table for x in row):
        raise ValueError("query, key and value must be finite")
    return TileStepper(
        query=tables[0], key=tables[1], value=tables[2], block_q=block_q, block_k=block_k,
        is_causal=is_causal, order=order, step=step,
    )  # fmt: skip
