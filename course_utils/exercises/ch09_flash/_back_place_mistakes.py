"""What goes wrong in the tiled backward pass: which tiles are walked, and where they add."""

from typing import Any

import torch

from course_utils.checking.exercise import Function, Misconception
from course_utils.exercises.ch09_flash import _tile_place_mistakes as forward
from course_utils.exercises.ch09_flash._walking_back import add, build, put


def _summed(axis: int) -> Function:
    def last(*grads: Any) -> Any:
        return tuple(g.sum(axis, keepdim=True).expand_as(g).clone() for g in grads[:3])

    return build(last=last)


def _written(*args: Any) -> Any:
    grads = build()(*args)
    return tuple(given.copy_(grad) for given, grad in zip(args, grads, strict=False))


def _key_loop_to_queries(*args: Any) -> Any:
    """Let the loop over keys run to the number of queries."""
    q, k, v, *rest = args
    near = min(q.shape[2], k.shape[2])
    dq, dk, dv = build()(q, k[:, :, :near], v[:, :, :near], *rest)
    more = (0, 0, 0, k.shape[2] - near)
    return dq, torch.nn.functional.pad(dk, more), torch.nn.functional.pad(dv, more)


PLACES = (
    Misconception(
        "dq replaced by each tile",
        build(adds=(put, add, add)),
        "dq holds what the last tile gave. A query's gradient gathers from all tiles of keys that "
        "it saw: what happens to what stands there already?",
    ),
    Misconception(
        "dk and dv replaced by each tile",
        build(adds=(add, put, put)),
        "dk or dv holds what the last block of queries gave. A key's gradient gathers from all "
        "queries that saw it.",
        also=(
            build(adds=(add, put, add)),
            build(adds=(add, add, put)),
            build(adds=(put, put, put)),
        ),
    ),
    Misconception(
        "a ragged tail of keys dropped",
        build(columns=forward.whole_blocks),
        "The last keys take no part: block_k does not divide S, and the short tile at the end was "
        "left out. How many tiles does it take to hold all S keys?",
        also=(build(columns=forward.all_but_last),),
    ),
    Misconception(
        "a ragged tail of queries dropped",
        build(rows=forward.whole_blocks),
        "The last queries take no part: block_q does not divide L, and the short block at the end "
        "was left out. How many blocks does it take to hold all L queries?",
        also=(build(rows=forward.all_but_last),),
    ),
    Misconception(
        "tiles that overlap",
        build(columns=forward.shifted_back),
        "Some keys or queries are counted twice: two tiles overlap. The last one begins where the "
        "one before it ended, and may be short.",
        also=(
            build(rows=forward.shifted_back),
            build(rows=forward.shifted_back, columns=forward.shifted_back),
            build(columns=forward.overlapping),
            build(rows=forward.overlapping),
        ),
    ),
    Misconception(
        "one tile only",
        build(columns=forward.one_block),
        "Only the first tile of a row or a column of tiles was walked. Is there a `return` or a "
        "`break` inside a loop?",
        also=(
            build(rows=forward.one_block),
            build(rows=forward.one_block, columns=forward.one_block),
        ),
    ),
    Misconception(
        "the loop over keys runs to L",
        _key_loop_to_queries,
        "The loop over keys ends at the number of queries. Which of the two lengths has the keys?",
    ),
    Misconception(
        "the batch summed",
        _summed(0),
        "The gradients of all sequences or heads were added together. Each has its own inputs: "
        "over which axes may be summed?",
        also=(_summed(1),),
    ),
    Misconception(
        "written into the inputs",
        _written,
        "The inputs were overwritten with their gradients. The caller still needs them: which line "
        "writes in place?",
    ),
)
