"""Exercise: find the tokens of a sequence in blocks that lie anywhere."""

from typing import Any

import torch
from course_utils.attention import paged_gather
from course_utils.checking.exercise import case, exercise
from course_utils.checking.inputs import Make, normal
from course_utils.checking.mistakes import mistake, saying
from course_utils.exercises.shared.caches import another_dtype
from course_utils.exercises.shared.kinds import cut_off, left_in, squeezed
from torch import Tensor

# `within` keeps wrong places inside the table and the block, where an answer would fail or read another one.
RIGHT = """
def paged_gather(pool, block_table, length):
    size = pool.shape[1]
    table = block_table
    place = torch.arange(length)
    entry = place // size
    slot = place % size
    block = table[within(entry, len(table))].clamp(-len(pool), len(pool) - 1)
    rows = pool[block, within(slot, pool.shape[1])]
    return rows
"""


def within(places: Tensor, size: int) -> Tensor:
    """Return the places, those outside 0 to size - 1 moved to the nearest of them."""
    return places.clamp(0, size - 1)


_NEEDED = "pool[block_table[: -(-length // size)]]"
_USED = "block_table[block_table >= 0]"
_FLAT = "flat = pool.flatten(0, 1)\nrows = flat[within({}, len(flat))]"


def _made(
    table: tuple[int, ...],
    length: int,
    sizes: tuple[int, int, int, int] = (7, 4, 3, 5),
    dtype: torch.dtype = torch.float64,
) -> Make:
    """Make a pool of the sizes (num_blocks, block_size, H, d), and a table."""
    return lambda g: (normal(g, *sizes, dtype=dtype), torch.tensor(table), length)


def _one_layer(g: torch.Generator) -> tuple[Any, ...]:
    """Let the pool be one layer of a larger one."""
    return normal(g, 6, 2, 3, 4, 5)[:, 1], torch.tensor([4, 0, 5]), 8


EXERCISE = exercise(
    paged_gather,
    right=RIGHT,
    asks="Gather the first `length` tokens of a sequence from the blocks that its table lists.",
    minutes=15,
    difficulty=3,
    importance=3,
    cases=(
        case("10 tokens in the blocks 5, 2 and 6 of 4 slots", _made((5, 2, 6), 10), gradient="equal"),
        case("full blocks", _made((3, 0), 8)),
        case("one block, not full", _made((4,), 3)),
        case("one token", _made((6, 1), 1)),
        case("a longer table than is needed", _made((2, 6, 0, 1, 5), 7)),
        case("unused entries of -1", _made((1, 5, -1, -1, -1), 6), gradient="equal"),
        case("unused entries of -1 after full blocks", _made((5, 3, 0, -1), 12)),
        case("a block that occurs twice", _made((4, 1, 4, 0), 15), gradient="equal"),
        case("blocks of one slot", _made((3, 1, 4, 1, 5), 5, (8, 1, 2, 3))),
        case("blocks of 5 slots, 2 heads", _made((2, 0, 3, 1), 17, (4, 5, 2, 7))),
        case("4 blocks, 4 slots, 4 heads, width 4", _made((2, 3, 0, 1), 14, (4, 4, 4, 4))),
        case("one head of width 1", _made((1, 2), 5, (3, 3, 1, 1))),
        case("one of everything", _made((0,), 1, (1, 1, 1, 1))),
        case("blocks 0, 1, 2, in order", _made((0, 1, 2), 11)),
        case("a non-contiguous pool", _one_layer),
        case("float32", _made((6, 2, 3), 9, dtype=torch.float32)),
        case("bfloat16", _made((0, 4, 2), 11, dtype=torch.bfloat16)),
    ),
    mistakes=(
        mistake("the table not used", "These are the first rows of the pool. The blocks of a sequence can be anywhere "
                "in it: what says where?", "table = torch.arange(len(block_table))"),
        mistake("blocks in the order of the pool", "The right blocks in the order in which the pool holds them. The "
                "table lists them in the order of the text.",
                f"table = {_USED}.unique()", f"table = {_USED}.sort().values"),
        mistake("blocks in reverse", "The table was read from its end. Its first entry holds the first tokens.",
                "table = block_table.flip(0)", f"table = {_USED}.flip(0)"),
        mistake("a block read once only", "A block that the table names twice was gathered once. Each entry has its "
                "own run of positions.", "table = torch.tensor(list(dict.fromkeys(block_table.tolist())))",
                "table = torch.tensor(list(dict.fromkeys(block_table.tolist())))\n"
                "rows = pool[table].flatten(0, 1)[:length]"),
        mistake("the table turned round", "The table was read the other way: as if it said for each block of the pool "
                "where it goes. It says for each run of positions where it is.",
                "place = torch.arange(length)\nnumbers = torch.arange(len(block_table))\n"
                "table = torch.zeros(len(pool), dtype=torch.long).index_copy(0, block_table % len(pool), numbers)",
                "table = block_table.argsort()"),
        mistake("the first block again and again", "All tokens come from one block, or from two. Which entry of the "
                "table holds position i?", "entry = 0 * place", "entry = within(place // size, 2)"),
        mistake("block and slot exchanged", "Neighbours in the text come from different blocks. Position i is in block "
                "i // size of its table, or is it i % size?", "entry = place % size\nslot = place // size"),
        mistake("the slots of a block in reverse", "Inside a block the tokens come from the last to the first.",
                "slot = size - 1 - place % size"),
        mistake("the first slot of each block", "All tokens of a block are the same one. Which slot does position i "
                "have inside its block?", "slot = 0 * place", "slot = 0 * place + size - 1"),
        mistake("positions counted from one", "The tokens are those of the neighbouring positions: one too far or one "
                "too near. The first position is 0.", "place = torch.arange(1, length + 1)",
                "place = within(torch.arange(length) - 1, length)", "slot = (place + 1) % size",
                "slot = (place - 1) % size", "entry = (place + 1) // size", "table = block_table + 1",
                "table = block_table - 1", "table = block_table.roll(1)", "table = block_table.roll(-1)"),
        mistake("another block size", "A block was taken to be longer or shorter than it is. Of (num_blocks, "
                "block_size, H, d), which axis tells you?", "size = len(pool)", "size = len(block_table)",
                "size = pool.shape[2]", _FLAT.format("block * len(pool) + slot")),
        mistake("entries of the table taken for rows", "The entries of the table were used as rows of one long table "
                "of slots. An entry is the number of a block: at which row does block 3 begin?",
                _FLAT.format("block + slot"), "rows = pool.flatten(0, 1)[block_table][:length]"),
        mistake("a half-filled block dropped", "The last tokens are missing: they are in a block that is not full. How "
                "many blocks do `length` tokens need?", "place = torch.arange(length // size * size)"),
        mistake("free slots taken for tokens", "There are more rows than tokens: the last block has free slots, and a "
                "table may have more entries than are used. Where does the sequence end?",
                f"rows = {_NEEDED}.flatten(0, 1)", "rows = pool[block_table].flatten(0, 1)",
                "rows = pool[block_table].flatten(0, 1)[: length + 1]", f"rows = pool[{_USED}].flatten(0, 1)"),
        mistake("one token lost", "One token is missing: the result needs `length` rows.", "return rows[:-1]",
                "return rows[1:]"),
        mistake("the last tokens instead of the first", "The rows were cut from the wrong side: the free slots are the "
                "last ones.",
                "rows = pool[block_table].flatten(0, 1)[-length:]", f"rows = pool[{_USED}].flatten(0, 1)[-length:]",
                f"every = {_NEEDED}.flatten(0, 1)\nrest = length % size\n"
                "rows = torch.cat([every[: length - rest], every[len(every) - rest :]])"),
        mistake("length counted in blocks", "`length` was used to cut the table. It counts tokens, and a block holds "
                "several.", "rows = pool[block_table[:length]].flatten(0, 1)",
                "rows = pool[block_table[:length]].flatten(0, 1)[: len(block_table)]"),
        mistake("heads and slots mixed", "Numbers of other heads or other tokens are where these should be: axes were "
                "cut anew instead of joined in their order.",
                "rows = pool[block_table].transpose(1, 2).reshape(-1, *pool.shape[2:])[:length]",
                "rows = pool[block_table].transpose(0, 1).flatten(0, 1)[:length]",
                "return rows.transpose(0, 1).reshape(rows.shape)", "return rows.flip(1)",
                "return rows.reshape(len(rows), pool.shape[3], pool.shape[2])"),
        mistake("output with other axes", "The values are right, but the result must have the axes (length, H, d). "
                "Which axes are exchanged, joined or still apart?",
                "return rows.transpose(0, 1)", "return rows.flatten(1)", "return rows.mT",
                "return rows.transpose(0, 1).unsqueeze(0)", f"return {_NEEDED}", "return pool[block_table]"),
        *saying((left_in("return rows{}"), squeezed("return rows{}")), {
            "an axis of size 1 left in": "There is an axis of size 1 too many, as if for a batch. The pool's rows "
                "have the axes (H, d): how many does a sequence of them have?",
            "squeeze takes too many axes": "With one token, one head or width 1, an axis is lost: `squeeze()` without "
                "a number removes every axis of size 1. Which one did you mean?",
        }),
        mistake("heads averaged", "All heads hold the same, or one head alone is left. They are kept apart in the "
                "pool, and stay so.",
                "return rows.mean(1, keepdim=True).expand(rows.shape)", "return rows.mean(1)", "return rows[:, 0]"),
        mistake("the pool changed", "Gathering wrote into the pool. Other sequences live in it.",
                "pool[block_table[0]] = 0.0\nreturn rows"),
        cut_off("return rows.detach()", "return torch.from_numpy(rows.detach().numpy())"),
        another_dtype("The keys have another dtype than the pool. Moving numbers changes nothing about them.", "rows"),
        mistake("a list", "A list came back, not a tensor. What puts the rows together?", "return list(rows)",
                "return rows.tolist()"),
    ),
    hints=(
        "With 4 slots per block and the table [5, 2, 6], where are the positions 0, 3, 4 and 9?",
        "Indexing the pool with the table lays the right blocks side by side. Which axes are to be joined then, and "
        "where does the sequence end?",
        "`length` tokens need `length / block_size` blocks, rounded up. The entries after those may be -1, which "
        "indexing treats as the last block.",
        "`pool[used]` has the axes (n, block_size, H, d): `flatten` joins the first two of them, and a slice cuts off "
        "the excess.",
    ),
)
