"""The picture of chapter 09: attention walks its table of scores tile by tile."""

import math
from collections.abc import Sequence
from typing import Any

import anywidget
import traitlets

from course_utils.widgets._assets import module, style

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


class TileStepper(anywidget.AnyWidget):
    """The widget that ``tile_stepper`` makes; its traits follow the controls."""

    _esm = module("tile_stepper.js")
    _css = style("tile_stepper.css")

    query = traitlets.List(_ROW, help="Queries, (L, d).").tag(sync=True)
    key = traitlets.List(_ROW, help="Keys, (S, d).").tag(sync=True)
    value = traitlets.List(_ROW, help="Values, (S, d_v).").tag(sync=True)
    block_q = traitlets.Int(help="Queries in a block.").tag(sync=True)
    block_k = traitlets.Int(help="Keys in a block.").tag(sync=True)
    is_causal = traitlets.Bool(help="Whether a query sees no later key.").tag(sync=True)
    order = traitlets.Unicode(help="Which loop is the outer one.").tag(sync=True)
    step = traitlets.Int(help="How many steps were taken.").tag(sync=True)

    @traitlets.validate("block_q", "block_k")
    def _block(self, proposal: dict[str, Any]) -> int:
        name, size = proposal["trait"].name, int(proposal["value"])
        if not 1 <= size <= LARGEST:
            raise ValueError(f"{name} must be from 1 to {LARGEST}, got {size}")
        return size

    @traitlets.validate("order")
    def _known(self, proposal: dict[str, Any]) -> str:
        order = str(proposal["value"])
        if order not in ORDERS:
            raise ValueError(f"order must be one of {ORDERS}, got {order!r}")
        return order

    @traitlets.validate("step")
    def _forward(self, proposal: dict[str, Any]) -> int:
        step = int(proposal["value"])
        if step < 0:
            raise ValueError(f"step must be at least 0, got {step}")
        return step

    def __repr__(self) -> str:
        """Say the settings; the same in every run."""
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
    step: int = 0,
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

    Raises:
        ValueError: The sizes do not fit, a number is not finite, or a setting is out of its range.
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
