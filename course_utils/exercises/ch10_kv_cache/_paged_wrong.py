"""Gathering from a pool of blocks with exchangeable steps: a mistake exchanges one of them."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from course_utils.checking.exercise import Function


def build(
    block: Callable[[Tensor, int], Tensor] = lambda place, size: place // size,
    slot: Callable[[Tensor, int], Tensor] = lambda place, size: place % size,
    table: Callable[[Tensor, Tensor], Tensor] = lambda table, pool: table,
    count: Callable[[int, int], int] = lambda length, size: length,
    finish: Callable[[Tensor], Any] = lambda keys: keys,
) -> Function:
    """Return a gathering with some of its steps exchanged; what leaves the tables is clamped.

    Args:
        block: Which entry of the table holds a position, from all positions and the block size.
        slot: Which slot in its block.
        table: The table that is really used, from the given one and the pool.
        count: How many tokens are gathered, from the length and the block size.
        finish: What is made of them.
    """

    def wrong(pool: Tensor, block_table: Tensor, length: int) -> Any:
        size, used = pool.shape[1], table(block_table, pool)
        place = torch.arange(count(length, size))
        number = used[block(place, size).clamp(0, len(used) - 1)]
        row = slot(place, size).clamp(0, size - 1)
        return finish(pool[number.clamp(-len(pool), len(pool) - 1), row])

    return wrong


def whole(change: Callable[[Tensor, Tensor, int], Any]) -> Function:
    """Return a gathering that makes the result of the blocks (n, size, H, d), laid side by side."""

    def wrong(pool: Tensor, block_table: Tensor, length: int) -> Any:
        return change(pool[block_table], pool, length)

    return wrong
