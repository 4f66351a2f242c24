"""Exercise: find the tokens of a sequence in blocks that lie anywhere."""

from typing import Any

import torch
from course_utils.attention import paged_gather
from course_utils.checking.exercise import Cost, case, exercise
from course_utils.checking.inputs import Make, normal
from course_utils.checking.mistakes import mistake, saying
from course_utils.checking.recipe import Function
from course_utils.exercises.shared.caches import another_dtype
from course_utils.exercises.shared.kinds import NOTHING, cut_off, left_in, squeezed
from course_utils.measure.cost import elements_made

RIGHT = """
def paged_gather(pool, block_table, length):
    size = pool.shape[1]
    table = block_table
    place = torch.arange(length)
    entry = place // size
    slot = place % size
    block = table[entry]
    rows = pool[block, slot]
    return rows
"""

_NAMED = "block_table[: -(-length // size)]"
_NEEDED = f"pool[{_NAMED}]"
_USED = "block_table[block_table >= 0]"
_FLAT = "rows = pool.flatten(0, 1)[{}]"
# Of whole blocks: as many as are full, and what is left of the next.
_REST = "needed, rest = -(-length // size), length % size\nblocks = pool[block_table[:needed]]\n"


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


def _with_unused(fn: Function, *args: Any) -> Any:
    """Call it with entries of -1; give all refusals of these the same words."""
    try:
        return fn(*args)
    except (ValueError, AssertionError) as error:
        raise ValueError("a table with unused entries of -1 was refused") from error


_COPIED_SAYS = (
    "The values are right, but all blocks of the pool were copied, or gone through, to read a few of them. It holds "
    "the texts of everybody: which blocks does the table name?"
)

EXERCISE = exercise(
    paged_gather,
    right=RIGHT,
    asks="Gather the first `length` tokens of a sequence from the blocks that its table lists.",
    minutes=15,
    difficulty=3,
    importance=3,
    cases=(
        # The table is longer than a block and the pool shorter: few wrong places are out of bounds.
        case("14 tokens in the blocks 3, 0 and 2 of 6 slots", _made((3, 0, 2, 4, 1, 0, 3), 14, (5, 6, 3, 4)),
             gradient="equal"),
        case("10 tokens in the blocks 5, 2 and 6 of 4 slots", _made((5, 2, 6), 10)),
        case("full blocks", _made((3, 0), 8)),
        case("one block, not full", _made((4,), 3)),
        case("one token", _made((6, 1), 1)),
        case("a longer table than is needed", _made((2, 6, 0, 1, 5), 7)),
        case("unused entries of -1", _made((1, 5, -1, -1, -1), 6), run=_with_unused),
        case("unused entries of -1 after full blocks", _made((5, 3, 0, -1), 12), run=_with_unused),
        case("a block that occurs twice", _made((4, 1, 4, 0), 15), gradient="equal"),
        case("blocks of one slot", _made((3, 1, 4, 1, 5), 5, (8, 1, 2, 3))),
        case("blocks of 5 slots, 2 heads", _made((2, 0, 3, 1), 17, (4, 5, 2, 7))),
        case("4 blocks, 4 slots, 4 heads, width 4", _made((2, 3, 0, 1), 14, (4, 4, 4, 4))),
        case("one head of width 1", _made((1, 2), 5, (3, 3, 1, 1))),
        case("one of everything", _made((0,), 1, (1, 1, 1, 1))),
        case("blocks 0, 1, 2, in order", _made((0, 1, 2), 11)),
        case("a non-contiguous pool", _one_layer),
        case("no token at all", _made((2, 5), 0)),
        case("no token, and no block", lambda g: (normal(g, 4, 3, 2, 5), torch.zeros(0, dtype=torch.long), 0)),
        case("float32", _made((6, 2, 3), 9, dtype=torch.float32)),
        case("bfloat16", _made((0, 4, 2), 11, dtype=torch.bfloat16)),
    ),
    mistakes=(
        mistake("the table not used", "These are the first rows of the pool. The blocks of a sequence can be anywhere "
                "in it: what says where?", "table = torch.arange(len(block_table))"),
        mistake("blocks in the order of the pool", "The right blocks in the order in which the pool holds them. The "
                "table lists them in the order of the text.",
                f"table = {_USED}.unique()", f"table = {_USED}.sort().values",
                f"table = {_NAMED}.unique()", f"table = {_NAMED}.sort().values",
                f"rows = pool[{_NAMED}.unique()].flatten(0, 1)[:length]"),
        mistake("blocks in reverse", "The table was read from its end. Its first entry holds the first tokens.",
                "table = block_table.flip(0)", f"table = {_USED}.flip(0)", f"table = {_NAMED}.flip(0)"),
        mistake("a block read once only", "A block that the table names twice was gathered once. Each entry has its "
                "own run of positions.", "table = torch.tensor(list(dict.fromkeys(block_table.tolist())))",
                "rows = pool[list(dict.fromkeys(block_table.tolist()))].flatten(0, 1)[:length]",
                f"rows = pool[list(dict.fromkeys({_NAMED}.tolist()))].flatten(0, 1)[:length]"),
        mistake("the table turned round", "The table was read the other way: as if it said for each block of the pool "
                "where it goes. It says for each run of positions where it is.",
                "place = torch.arange(length)\nnumbers = torch.arange(len(block_table))\n"
                "table = torch.zeros(len(pool), dtype=torch.long).index_copy(0, block_table % len(pool), numbers)",
                "table = block_table.argsort()"),
        mistake("the first block again and again", "All tokens come from one block, or from two. Which entry of the "
                "table holds position i?", "entry = 0 * place", "entry = (place // size).clamp(max=1)"),
        mistake("block and slot exchanged", "Neighbours in the text come from different blocks. Position i is in block "
                "i // size of its table, or is it i % size?", "entry = place % size\nslot = place // size",
                "rows = pool[slot, block]"),
        mistake("one number for block and slot", "Block and slot were worked out by the same division. One says how "
                "many blocks are full before the token, the other how many tokens are before it in its block.",
                "slot = place // size", "entry = place % size"),
        mistake("every slot with every block", "Block and slot were looked up one after the other, so that each "
                "block met each slot. How do two index tensors go together, one pair for each token?",
                "rows = pool[block][:, slot]"),
        mistake("the slots of a block in reverse", "Inside a block the tokens come from the last to the first.",
                "slot = size - 1 - place % size"),
        mistake("the first slot of each block", "All tokens of a block are the same one. Which slot does position i "
                "have inside its block?", "slot = 0 * place", "slot = 0 * place + size - 1"),
        mistake("positions counted from one", "The tokens are those of the neighbouring positions: one too far or one "
                "too near. The first position is 0.", "place = torch.arange(1, length + 1)",
                "place = (torch.arange(length) - 1).clamp(min=0)", "slot = (place + 1) % size",
                "slot = (place - 1) % size", "entry = (place + 1) // size"),
        mistake("blocks counted from one", "The tokens are those of the block before or after theirs, in the pool or "
                "in the table. What is the number of the first one?", "table = block_table + 1",
                "table = block_table - 1", "table = block_table.roll(1)", "table = block_table.roll(-1)",
                "entry = place // size + 1", "entry = place // size - 1"),
        mistake("another block size", "A block was taken to be longer or shorter than it is. Of (num_blocks, "
                "block_size, H, d), which axis tells you?", "size = len(pool)", "size = len(block_table)",
                "size = pool.shape[2]", "size = pool.shape[3]", "size = length // len(block_table)",
                "size = -(-length // len(block_table))", _FLAT.format("block * len(pool) + slot"),
                "size = len(pool)\n" + _FLAT.format("block * size + slot"),
                "size = len(block_table)\n" + _FLAT.format("block * size + slot")),
        mistake("the position added to the start of its block", "Where a block begins, its first token follows, not "
                "the token of that number in the text. How far into its block is position i?",
                _FLAT.format("block * size + place"), _FLAT.format("(block * size + place) % pool[..., 0, 0].numel()")),
        mistake("entries of the table taken for rows", "The entries of the table were used as rows of one long table "
                "of slots. An entry is the number of a block: at which row does block 3 begin?",
                _FLAT.format("block + slot"), "rows = pool.flatten(0, 1)[block_table][:length]"),
        mistake("a half-filled block dropped", "The last tokens are missing: they are in a block that is not full. How "
                "many blocks do `length` tokens need?", "place = torch.arange(length // size * size)"),
        mistake("a full last block lost", "The last block is full, and it was left out, or everything was: its tokens "
                "were counted with a remainder, and that is 0. What does a slice with 0, or -0, keep?",
                f"{_REST}rows = torch.cat([blocks[:-1].flatten(0, 1), *blocks[-1:, :rest]])",
                f"{_REST}rows = blocks.flatten(0, 1)[: -(needed * size - length)]",
                f"{_REST}rows = blocks.flatten(0, 1)[: rest - size]"),
        mistake("one block more than is needed", "Where the last block is full, one more was looked up, and the table "
                "ends there. How many blocks do `length` tokens need?",
                "rows = torch.cat([pool[table[number]] for number in range(length // size + 1)])[:length]"),
        mistake("block 0 taken for none", "Block 0 was thrown out along with the entries that are not used. Which "
                "numbers do blocks have?", "table = block_table[block_table > 0]",
                "rows = pool[block_table[block_table > 0]].flatten(0, 1)[:length]",
                "table = block_table[block_table.nonzero()[:, 0]]"),
        mistake("unused entries refused", "A table that is longer than needed was refused, or one with entries of -1. "
                "Which entries are read at all?",
                "assert (block_table >= 0).all()\ntable = block_table",
                "assert len(block_table) == -(-length // size)\ntable = block_table"),
        mistake("no token is a special case", "With `length` = 0 there is nothing to join, and the call fails. What "
                "has the shape (0, H, d)?", "rows = torch.stack([pool[b, s] for b, s in zip(block, slot)])",
                f"rows = torch.cat(list({_NEEDED}))[:length]"),
        mistake("free slots taken for tokens", "There are more rows than tokens: the last block has free slots, and a "
                "table may have more entries than are used. Where does the sequence end?",
                f"rows = {_NEEDED}.flatten(0, 1)", "rows = pool[block_table].flatten(0, 1)",
                "rows = pool[block_table].flatten(0, 1)[: length + 1]", f"rows = pool[{_USED}].flatten(0, 1)",
                "place = torch.arange(length + 1)", "return F.pad(rows, (0, 0, 0, 0, 0, len(table) * size - length))",
                "return F.pad(rows, (0, 0, 0, 0, 0, -length % size))"),
        mistake("one token lost", "One token is missing: the result needs `length` rows.", "return rows[:-1]",
                "return rows[1:]"),
        mistake("the last tokens instead of the first", "The rows were cut from the wrong side: the free slots are the "
                "last ones.",
                "rows = pool[block_table].flatten(0, 1)[-length:]", f"rows = pool[{_USED}].flatten(0, 1)[-length:]",
                f"rows = {_NEEDED}.flatten(0, 1)[-length:]",
                f"every = {_NEEDED}.flatten(0, 1)\nrows = every[len(every) - length :]",
                f"every = {_NEEDED}.flatten(0, 1)\nrest = length % size\n"
                "rows = torch.cat([every[: length - rest], every[len(every) - rest :]])"),
        mistake("length counted in blocks", "`length` was used to cut the table. It counts tokens, and a block holds "
                "several.", "rows = pool[block_table[:length]].flatten(0, 1)",
                "rows = pool[block_table[:length]].flatten(0, 1)[: len(block_table)]"),
        mistake("heads and slots mixed", "Numbers of other heads or other tokens are where these should be: axes were "
                "cut anew instead of joined in their order.",
                "rows = pool[block_table].transpose(1, 2).reshape(-1, *pool.shape[2:])[:length]",
                "rows = pool[block_table].transpose(0, 1).flatten(0, 1)[:length]",
                f"rows = {_NEEDED}.transpose(0, 1).flatten(0, 1)[:length]",
                f"rows = {_NEEDED}.transpose(1, 2).reshape(-1, *pool.shape[2:])[:length]",
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
                "return rows.mean(1, keepdim=True).expand(rows.shape)", "return rows.mean(1)", "return rows[:, 0]",
                "return rows[:, :1]"),
        mistake("the pool changed", "Gathering wrote into the pool. Other sequences live in it.",
                "pool[block_table[0]] = 0.0\nreturn rows"),
        cut_off("return rows.detach()", "return torch.from_numpy(rows.detach().numpy())"),
        another_dtype("The keys have another dtype than the pool. Moving numbers changes nothing about them.", "rows"),
        mistake("a list", "A list came back, not a tensor. What puts the rows together?", "return list(rows)",
                "return rows.tolist()"),
        NOTHING,
        mistake("the whole pool copied", _COPIED_SAYS, "rows = pool.clone()[block, slot]",
                "rows = pool.transpose(0, 1).contiguous()[slot, block]",
                "copies = [one.clone() for one in pool]\n"
                "rows = torch.stack([copies[b][s] for b, s in zip(block, slot)]) if length else pool[:0, 0]",
                "chosen = F.one_hot(block_table[entry], len(pool)).to(pool.dtype)\n"
                "rows = torch.einsum('tn,nshd->tshd', chosen, pool)[place, slot]"),
    ),
    costs=(
        Cost("the numbers copied", elements_made, (16, 1024),
             lambda n, g: _made((5, 2, 6, -1), 10, (n, 4, 3, 8))(g), 0.3, _COPIED_SAYS, "the whole pool copied"),
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
