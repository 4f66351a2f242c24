"""What goes wrong when the tokens of a sequence are gathered from blocks: where they lie."""

import torch
from torch import Tensor

from course_utils.checking.exercise import Misconception
from course_utils.exercises.ch10_kv_cache._paged_wrong import build


def _distinct(table: Tensor, pool: Tensor) -> Tensor:
    return torch.tensor(sorted({entry for entry in table.tolist() if entry >= 0}))


def _without_repeats(table: Tensor, pool: Tensor) -> Tensor:
    return torch.tensor(list(dict.fromkeys(table.tolist())))


def _inverse(table: Tensor, pool: Tensor) -> Tensor:
    """Read the table as saying where each block of the pool goes."""
    places = torch.zeros(len(pool), dtype=torch.long)
    for entry, number in enumerate(table.tolist()):
        places[number] = entry
    return places


def _row_for_row(pool: Tensor, block_table: Tensor, length: int) -> Tensor:
    """Take the entries of the table for rows of the flattened pool."""
    rows = pool.flatten(0, 1)
    first = block_table[torch.arange(length) // pool.shape[1]]
    return rows[(first + torch.arange(length) % pool.shape[1]).clamp(0, len(rows) - 1)]


def _times_blocks(pool: Tensor, block_table: Tensor, length: int) -> Tensor:
    """Find the first row of a block with the wrong size."""
    rows, place = pool.flatten(0, 1), torch.arange(length)
    first = block_table[place // pool.shape[1]] * len(pool)
    return rows[(first + place % pool.shape[1]).clamp(0, len(rows) - 1)]


PLACES = (
    Misconception(
        "the table not used",
        build(table=lambda table, pool: torch.arange(len(table))),
        "These are the first rows of the pool. The blocks of a sequence lie anywhere in it: what "
        "tells where?",
        also=(lambda pool, table, length: pool.flatten(0, 1)[:length],),
    ),
    Misconception(
        "blocks in the order of the pool",
        build(table=_distinct),
        "The right blocks in the order in which they lie in the pool. The table lists them in the "
        "order of the text.",
        also=(build(table=lambda table, pool: table[table >= 0].sort().values),),
    ),
    Misconception(
        "blocks in reverse",
        build(table=lambda table, pool: table.flip(0)),
        "The table was read from its end. Its first entry holds the first tokens.",
        also=(build(table=lambda table, pool: table[table >= 0].flip(0)),),
    ),
    Misconception(
        "a block read once only",
        build(table=_without_repeats),
        "A block that the table names twice was gathered once. Each entry stands for its own run "
        "of positions.",
    ),
    Misconception(
        "the table turned round",
        build(table=_inverse),
        "The table was read the other way: as if it said for each block of the pool where it goes. "
        "It says for each run of positions where it is.",
        also=(build(table=lambda table, pool: table.argsort()),),
    ),
    Misconception(
        "the first block again and again",
        build(table=lambda table, pool: table[:1]),
        "All tokens come from one block. Which entry of the table holds position i?",
        also=(build(table=lambda table, pool: table[0:2]),),
    ),
    Misconception(
        "block and slot exchanged",
        build(block=lambda place, size: place % size, slot=lambda place, size: place // size),
        "Neighbours in the text come from different blocks. Position i is in block i // size of "
        "its table, or is it i % size?",
    ),
    Misconception(
        "the slots of a block in reverse",
        build(slot=lambda place, size: size - 1 - place % size),
        "Inside a block the tokens come from the last to the first.",
    ),
    Misconception(
        "the first slot of each block",
        build(slot=lambda place, size: 0 * place),
        "All tokens of a block are the same one. Which slot does position i have inside its block?",
        also=(build(slot=lambda place, size: 0 * place + size - 1),),
    ),
    Misconception(
        "positions counted from one",
        build(block=lambda p, size: (p + 1) // size, slot=lambda p, size: (p + 1) % size),
        "The tokens are those of the neighbouring positions: one too far or one too near. The "
        "first position is 0.",
        also=(
            build(
                block=lambda p, size: (p - 1).clamp(min=0) // size,
                slot=lambda p, size: (p - 1).clamp(min=0) % size,
            ),
            build(slot=lambda place, size: (place + 1) % size),
            build(slot=lambda place, size: (place - 1) % size),
            build(block=lambda place, size: (place + 1) // size),
            build(table=lambda table, pool: table + 1),
            build(table=lambda table, pool: table - 1),
            build(table=lambda table, pool: table.roll(1)),
            build(table=lambda table, pool: table.roll(-1)),
        ),
    ),
    Misconception(
        "another block size",
        lambda pool, table, length: build(
            block=lambda place, size: place // len(pool), slot=lambda place, size: place % len(pool)
        )(pool, table, length),
        "A block was taken to be longer or shorter than it is. Of (num_blocks, block_size, H, d), "
        "which axis says it?",
        also=(
            lambda pool, table, length: build(
                block=lambda place, size: place // len(table),
                slot=lambda place, size: place % len(table),
            )(pool, table, length),
            lambda pool, table, length: build(
                block=lambda place, size: place // pool.shape[2],
                slot=lambda place, size: place % pool.shape[2],
            )(pool, table, length),
            _times_blocks,
        ),
    ),
    Misconception(
        "entries of the table taken for rows",
        _row_for_row,
        "The entries of the table were used as rows of one long table of slots. An entry is the "
        "number of a block: with which row does block 3 begin?",
        also=(lambda pool, table, length: pool.flatten(0, 1)[table][:length],),
    ),
)
