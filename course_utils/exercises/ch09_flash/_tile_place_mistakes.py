"""What goes wrong in tiled attention: which tiles are walked."""

from typing import Any

import torch
from torch import Tensor

from course_utils.checking.exercise import Misconception
from course_utils.exercises.ch09_flash._walking import Place, build, cut

Ranges = list[tuple[int, int]]


def whole_blocks(length: int, block: int, tensors: Any = None) -> Ranges:
    """Leave out the short block at the end, unless there is no other."""
    return cut(length // block * block, block) or [(0, length)]


def all_but_last(length: int, block: int, tensors: Any = None) -> Ranges:
    return cut(length, block)[:-1] or [(0, length)]


def shifted_back(length: int, block: int, tensors: Any = None) -> Ranges:
    """Let the last block begin earlier, so that it is full."""
    return [(max(0, b - block), b) for _, b in cut(length, block)]


def overlapping(length: int, block: int, tensors: Any = None) -> Ranges:
    return [(a, min(a + block + 1, length)) for a, _ in cut(length, block)]


def _with_gaps(length: int, block: int, tensors: Any = None) -> Ranges:
    return [(a, max(a + 1, min(a + block - 1, length))) for a, _ in cut(length, block)]


def one_block(length: int, block: int, tensors: Any = None) -> Ranges:
    return cut(length, block)[:1]


def _zero_rows(q: Tensor, k: Tensor, v: Tensor, bq: int, *rest: Any) -> Any:
    """Walk over whole blocks of queries only; what they leave out stays zero."""
    out, lse = build()(q, k, v, bq, *rest)
    done = torch.arange(q.shape[2]) < q.shape[2] // bq * bq
    return out * done.to(out).unsqueeze(-1), lse.masked_fill(~done, 0.0)


def _minus_rows(q: Tensor, k: Tensor, v: Tensor, bq: int, *rest: Any) -> Any:
    out, lse = _zero_rows(q, k, v, bq, *rest)
    undone = torch.arange(q.shape[2]) >= q.shape[2] // bq * bq
    return out, lse.masked_fill(undone, -torch.inf)


def _fewer_rows(q: Tensor, k: Tensor, v: Tensor, bq: int, *rest: Any) -> Any:
    out, lse = build()(q, k, v, bq, *rest)
    done = q.shape[2] // bq * bq
    return (out[:, :, :done], lse[:, :, :done]) if done else (out, lse)


def _key_loop_to_queries(q: Tensor, k: Tensor, v: Tensor, *rest: Any) -> Any:
    """Let the loop over keys run to the number of queries."""
    near = min(q.shape[2], k.shape[2])
    return build()(q, k[:, :, :near], v[:, :, :near], *rest)


def _starts_below_queries(length: int, block: int, tensors: Any) -> Ranges:
    return [(a, b) for a, b in cut(length, block) if a < tensors[0].shape[2]]


def _padded(q: Tensor, k: Tensor, v: Tensor, bq: int, bk: int, *flag: bool) -> Any:
    """Pad keys and values with zeros to whole blocks, and let them take part."""
    more = -k.shape[2] % bk
    k, v = (torch.nn.functional.pad(x, (0, 0, 0, more)) for x in (k, v))
    return build()(q, k, v, bq, bk, *flag)


def _other_values(value: Tensor, at: Place) -> Tensor:
    return value[:, :, : at.k1 - at.k0]


def _last_values(value: Tensor, at: Place) -> Tensor:
    return value[:, :, at.num_keys - (at.k1 - at.k0) :]


def _other_keys(key: Tensor, at: Place) -> Tensor:
    return key[:, :, : at.k1 - at.k0]


def _first_head(x: Tensor, at: Place) -> Tensor:
    return x[:, :1, at.k0 : at.k1].expand(-1, x.shape[1], -1, -1)


def _first_batch(x: Tensor, at: Place) -> Tensor:
    return x[:1, :, at.k0 : at.k1].expand(x.shape[0], -1, -1, -1)


PLACES = (
    Misconception(
        "a ragged tail of keys dropped",
        build(columns=whole_blocks),
        "The last keys take no part: block_k does not divide S, and the short tile at the end was "
        "left out. How many tiles does it take to hold all S keys?",
        also=(build(columns=all_but_last),),
    ),
    Misconception(
        "a ragged tail of queries dropped",
        _zero_rows,
        "The last queries got no answer: block_q does not divide L, and the short block at the end "
        "was left out. How many blocks does it take to hold all L queries?",
        also=(_minus_rows, _fewer_rows),
    ),
    Misconception(
        "padding takes part",
        _padded,
        "The last tile was filled up with zeros, and they count: a key of zeros has the score 0, "
        "whose exponential is not 0. What hides a place that is no key?",
    ),
    Misconception(
        "tiles that overlap",
        build(columns=shifted_back),
        "Some keys are counted twice: two tiles overlap. The last one begins where the one before "
        "it ended, and may be short.",
        also=(build(columns=overlapping),),
    ),
    Misconception(
        "keys between the tiles lost",
        build(columns=_with_gaps),
        "A key at the end of every tile takes no part. Does a slice hold its last index?",
    ),
    Misconception(
        "the first tile only",
        build(columns=one_block),
        "Only the first tile of keys was seen. Is there a `return` or a division inside the loop?",
    ),
    Misconception(
        "the loop over keys runs to L",
        _key_loop_to_queries,
        "The loop over keys ends at the number of queries. Which of the two lengths has the keys?",
        also=(build(columns=_starts_below_queries),),
    ),
    Misconception(
        "another tile's values",
        build(values=_other_values),
        "The weights of a tile met the values, or the scores the keys, of another one. Both slices "
        "must begin at the tile's first key.",
        also=(
            build(values=_last_values),
            build(keys=_other_keys),
            build(keys=_other_keys, values=_other_values),
        ),
    ),
    Misconception(
        "one head for all",
        build(keys=_first_head, values=_first_head),
        "All heads, or all sequences, read the keys or values of the first one. Each has its own.",
        also=(
            build(values=_first_head),
            build(keys=_first_head),
            build(keys=_first_batch, values=_first_batch),
            build(values=_first_batch),
            build(keys=_first_batch),
        ),
    ),
)
