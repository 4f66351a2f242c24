"""Exercise: find the tokens of a sequence in blocks that lie anywhere."""

from collections.abc import Callable
from typing import Any

import torch

from course_utils.attention import paged_gather
from course_utils.checking.exercise import Case, Exercise
from course_utils.checking.inputs import normal
from course_utils.exercises.ch10_kv_cache._paged_mistakes import PLACES
from course_utils.exercises.ch10_kv_cache._paged_shape_mistakes import RESULTS

Make = Callable[[torch.Generator], tuple[Any, ...]]


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


EXERCISE = Exercise(
    name="paged_gather",
    chapter=10,
    signature="paged_gather(pool, block_table, length)",
    asks="Gather the first `length` tokens of a sequence from the blocks that its table lists.",
    reference=paged_gather,
    minutes=15,
    difficulty=3,
    importance=3,
    cases=(
        Case(
            "10 tokens in the blocks 5, 2 and 6 of 4 slots", _made((5, 2, 6), 10), gradient="equal"
        ),
        Case("full blocks", _made((3, 0), 8)),
        Case("one block, not full", _made((4,), 3)),
        Case("one token", _made((6, 1), 1)),
        Case("a longer table than is needed", _made((2, 6, 0, 1, 5), 7)),
        Case("unused entries of -1", _made((1, 5, -1, -1, -1), 6), gradient="equal"),
        Case("unused entries of -1 after full blocks", _made((5, 3, 0, -1), 12)),
        Case("a block that occurs twice", _made((4, 1, 4, 0), 15), gradient="equal"),
        Case("blocks of one slot", _made((3, 1, 4, 1, 5), 5, (8, 1, 2, 3))),
        Case("blocks of 5 slots, 2 heads", _made((2, 0, 3, 1), 17, (4, 5, 2, 7))),
        Case("4 blocks, 4 slots, 4 heads, width 4", _made((2, 3, 0, 1), 14, (4, 4, 4, 4))),
        Case("one head of width 1", _made((1, 2), 5, (3, 3, 1, 1))),
        Case("one of everything", _made((0,), 1, (1, 1, 1, 1))),
        Case("blocks 0, 1, 2, in order", _made((0, 1, 2), 11)),
        Case("a pool that does not lie in memory block by block", _one_layer),
        Case("float32", _made((6, 2, 3), 9, dtype=torch.float32)),
        Case("bfloat16", _made((0, 4, 2), 11, dtype=torch.bfloat16)),
    ),
    misconceptions=(*PLACES, *RESULTS),
    hints=(
        "With 4 slots a block and the table [5, 2, 6], where do the positions 0, 3, 4 and 9 lie?",
        "Indexing the pool with the table lays the right blocks side by side. Which axes are to be "
        "joined then, and where does the sequence end?",
        "`length` tokens need `length / block_size` blocks, rounded up. The entries behind those "
        "may be -1, which indexing takes for the last block.",
        "`pool[used]` has the axes (n, block_size, H, d): `flatten` joins the first two of them, "
        "and a slice cuts what is too much.",
    ),
)
