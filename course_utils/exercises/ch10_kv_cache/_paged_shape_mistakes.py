"""What goes wrong when the tokens of a sequence are gathered: how many, and in which shape."""

import torch
from torch import Tensor

from course_utils.checking.exercise import Misconception
from course_utils.exercises.ch10_kv_cache._paged_wrong import build, whole


def _full_blocks(pool: Tensor, block_table: Tensor, length: int) -> Tensor:
    used = block_table[: length // pool.shape[1]]
    return pool[used].flatten(0, 1)


def _as_blocks(pool: Tensor, block_table: Tensor, length: int) -> Tensor:
    return pool[block_table[: -(-length // pool.shape[1])]]


def _all_of_them(pool: Tensor, block_table: Tensor, length: int) -> Tensor:
    return _as_blocks(pool, block_table, length).flatten(0, 1)


def _right_aligned(pool: Tensor, block_table: Tensor, length: int) -> Tensor:
    """Take the last block's newest slots, as if it were filled from its end."""
    every, start = _all_of_them(pool, block_table, length), length // pool.shape[1]
    rest = length % pool.shape[1]
    kept = every[: start * pool.shape[1]]
    return torch.cat([kept, every[-rest:]]) if rest else kept


def _emptied(pool: Tensor, block_table: Tensor, length: int) -> Tensor:
    out: Tensor = build()(pool, block_table, length)
    pool[block_table[0]] = 0.0
    return out


RESULTS = (
    Misconception(
        "a half-filled block dropped",
        _full_blocks,
        "The last tokens are missing: they lie in a block that is not full. How many blocks do "
        "`length` tokens need?",
    ),
    Misconception(
        "free slots taken for tokens",
        _all_of_them,
        "There are more rows than tokens: the last block has free slots, and a table may have more "
        "entries than are used. Where does the sequence end?",
        also=(
            whole(lambda blocks, pool, length: blocks.flatten(0, 1)),
            whole(lambda blocks, pool, length: blocks.flatten(0, 1)[: length + 1]),
            lambda pool, table, length: pool[table[table >= 0]].flatten(0, 1),
        ),
    ),
    Misconception(
        "one token lost",
        whole(lambda blocks, pool, length: blocks.flatten(0, 1)[: length - 1]),
        "One token is missing: `length` rows are owed.",
        also=(whole(lambda blocks, pool, length: blocks.flatten(0, 1)[1:length]),),
    ),
    Misconception(
        "the last tokens instead of the first",
        whole(lambda blocks, pool, length: blocks.flatten(0, 1)[-length:]),
        "The rows were cut from the wrong side: the free slots are the last ones.",
        also=(
            _right_aligned,
            lambda pool, table, length: pool[table[table >= 0]].flatten(0, 1)[-length:],
        ),
    ),
    Misconception(
        "length counted in blocks",
        lambda pool, table, length: pool[table[:length]].flatten(0, 1),
        "`length` was used to cut the table. It counts tokens, and a block holds several.",
        also=(lambda pool, table, length: pool[table[:length]].flatten(0, 1)[: len(table)],),
    ),
    Misconception(
        "heads and slots mixed",
        whole(lambda b, pool, n: b.transpose(1, 2).reshape(-1, *pool.shape[2:])[:n]),
        "Numbers of other heads or other tokens stand where these should: axes were cut anew "
        "instead of joined in their order.",
        also=(
            whole(lambda b, pool, n: b.transpose(0, 1).flatten(0, 1)[:n]),
            whole(
                lambda b, pool, n: b.flatten(0, 1)[:n].transpose(0, 1).reshape(n, *pool.shape[2:])
            ),
            whole(lambda b, pool, n: b.flatten(0, 1)[:n].flip(1)),
            whole(lambda b, pool, n: b.reshape(-1, pool.shape[3], pool.shape[2])[:n]),
        ),
    ),
    Misconception(
        "output with other axes",
        lambda pool, table, length: build()(pool, table, length).transpose(0, 1),
        "The values are right, but the result must have the axes (length, H, d). Which axes are "
        "exchanged, joined or still apart?",
        also=(
            build(finish=lambda keys: keys.flatten(1)),
            build(finish=lambda keys: keys.unsqueeze(0)),
            build(finish=lambda keys: keys.mT),
            build(finish=lambda keys: keys.squeeze()),
            build(finish=lambda keys: keys.transpose(0, 1).unsqueeze(0)),
            _as_blocks,
            whole(lambda blocks, pool, length: blocks),
        ),
    ),
    Misconception(
        "heads averaged",
        build(finish=lambda keys: keys.mean(1, keepdim=True).expand_as(keys)),
        "All heads hold the same. They are kept apart in the pool, and stay so.",
        also=(build(finish=lambda keys: keys.mean(1)), build(finish=lambda keys: keys[:, 0])),
    ),
    Misconception(
        "the pool changed",
        _emptied,
        "Gathering wrote into the pool. Other sequences live in it.",
    ),
    Misconception(
        "cut from the graph",
        build(finish=lambda keys: keys.detach()),
        "The values are right, but no gradient flows back to the pool. What cuts the thread?",
        also=(build(finish=lambda keys: torch.from_numpy(keys.detach().numpy())),),
    ),
    Misconception(
        "another dtype",
        build(finish=lambda keys: keys.float()),
        "The keys have another dtype than the pool. Moving numbers changes nothing about them.",
        also=(build(finish=lambda keys: keys.double()), build(finish=lambda keys: keys.half())),
    ),
    Misconception(
        "a list",
        build(finish=lambda keys: list(keys)),
        "A list came back, not a tensor. What puts the rows together?",
        also=(build(finish=lambda keys: keys.tolist()),),
    ),
)
