"""Tiled attention whose values are right, and which holds or computes more than a tile."""

import math
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from course_utils.attention import causal_mask
from course_utils.checking.exercise import Misconception
from course_utils.exercises.ch09_flash._walking import Place, build, cut


def _all_scores(query: Tensor, key: Tensor, is_causal: bool) -> Tensor:
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    mask = causal_mask(query.shape[-2], key.shape[-2])
    return scores.masked_fill(~mask, -torch.inf) if is_causal else scores


def _naive(q: Tensor, k: Tensor, v: Tensor, bq: int, bk: int, is_causal: bool = False) -> Any:
    scores = _all_scores(q, k, is_causal)
    return scores.softmax(-1) @ v, scores.logsumexp(-1)


def _naive_cut(q: Tensor, k: Tensor, v: Tensor, bq: int, bk: int, is_causal: bool = False) -> Any:
    """Make all scores first and walk over tiles of them."""
    scores = _all_scores(q, k, is_causal)
    lse = scores.logsumexp(-1)
    weights = (scores - lse.unsqueeze(-1)).exp()
    out = sum(weights[..., a:b] @ v[:, :, a:b] for a, b in cut(k.shape[2], bk))
    return out, lse


def _by_torch(q: Tensor, k: Tensor, v: Tensor, bq: int, bk: int, is_causal: bool = False) -> Any:
    out = F.scaled_dot_product_attention(q, k, v, is_causal=is_causal)
    return out, _all_scores(q, k, is_causal).logsumexp(-1)


def _by_torch_and_tiles(
    q: Tensor, k: Tensor, v: Tensor, bq: int, bk: int, is_causal: bool = False
) -> Any:
    out = F.scaled_dot_product_attention(q, k, v, is_causal=is_causal)
    return out, build()(q, k, v, bq, bk, is_causal)[1]


def _torch_by_rows(
    q: Tensor, k: Tensor, v: Tensor, bq: int, bk: int, is_causal: bool = False
) -> Any:
    """Give torch's attention a block of queries and all keys."""
    parts = []
    for a, b in cut(q.shape[2], bq):
        mask = causal_mask(b - a, k.shape[2], offset=a) if is_causal else None
        parts.append(F.scaled_dot_product_attention(q[:, :, a:b], k, v, attn_mask=mask))
    return torch.cat(parts, 2), build()(q, k, v, bq, bk, is_causal)[1]


def _all_queries(length: int, block: int) -> list[tuple[int, int]]:
    return [(0, length)]


def _all_keys(length: int, block: int, tensors: Any) -> list[tuple[int, int]]:
    return [(0, length)]


def _own_blocks(length: int, block: int) -> list[tuple[int, int]]:
    return cut(length, 128)


def _sliced_mask(q: Tensor, k: Tensor, v: Tensor, bq: int, bk: int, is_causal: bool = False) -> Any:
    """Make the mask of all pairs, and cut the tiles' masks out of it."""
    mask = causal_mask(q.shape[2], k.shape[2])

    def hidden(i: Tensor, j: Tensor, at: Place) -> Tensor:
        return ~mask[at.q0 : at.q1, at.k0 : at.k1]

    return build(hidden=hidden)(q, k, v, bq, bk, is_causal)


def _tiles_kept(q: Tensor, k: Tensor, v: Tensor, bq: int, bk: int, is_causal: bool = False) -> Any:
    """Keep every tile of scores until the last one is there."""
    tiles: dict[tuple[int, int], Tensor] = {}
    blocks = cut(q.shape[2], bq), cut(k.shape[2], bk)
    for a, b in blocks[0]:
        for c, d in blocks[1]:
            if is_causal and c > b - 1:
                continue
            scores = q[:, :, a:b] @ k[:, :, c:d].mT / math.sqrt(q.shape[-1])
            late = torch.arange(c, d) > torch.arange(a, b).unsqueeze(-1)
            tiles[a, c] = scores.masked_fill(late, -torch.inf) if is_causal else scores
    outs, lses = [], []
    for a, _ in blocks[0]:
        row = [(tiles[a, c], v[:, :, c:d]) for c, d in blocks[1] if (a, c) in tiles]
        lse = torch.stack([s.logsumexp(-1) for s, _ in row]).logsumexp(0)
        outs.append(sum((s - lse.unsqueeze(-1)).exp() @ near for s, near in row))
        lses.append(lse)
    return torch.cat(outs, 2), torch.cat(lses, 2)  # type: ignore[arg-type]


OPERATOR = Misconception(
    "plain SDPA inside",
    _by_torch,
    "The values are right, but torch's attention was handed more than one tile: all the keys, or "
    "all of everything. It tiles by itself, inside; here that is your work. What does one tile "
    "see, and how do two of them become one result?",
    also=(_by_torch_and_tiles, _torch_by_rows),
)
WHOLE = Misconception(
    "the full matrix",
    _naive,
    "The values are right, but all L × S scores are there at once: this is plain attention, "
    "whatever loops stand around it. How many scores may exist at the same time?",
    also=(_naive_cut,),
)
LARGE = Misconception(
    "more than a tile at once",
    build(columns=_all_keys),
    "The values are right, but a piece of scores larger than block_q × block_k was made: a block "
    "of queries against all keys, a block of keys against all queries, or a block of a size that "
    "nobody asked for. Which two loops does a tile need?",
    also=(
        build(rows=_all_queries),
        build(rows=_own_blocks),
        build(columns=lambda length, block, tensors: cut(length, 64)),
        build(columns=lambda length, block, tensors: cut(length, 2 * block)),
    ),
)
MASK = Misconception(
    "a mask of all pairs",
    _sliced_mask,
    "The scores come in tiles, but a mask of L × S was made to hide them: as many entries as all "
    "the scores. What says, from a tile's first query and first key alone, who sees whom in it?",
)
KEPT = Misconception(
    "every tile kept",
    _tiles_kept,
    "No tile is too large, but all of them are still there at the end: together they are the full "
    "matrix. What of a tile is needed once it has been added to the sums?",
)
FUTURE = Misconception(
    "future tiles computed",
    build(skip=lambda at: False),
    "The values are right, but tiles that lie wholly in the future are computed and then hidden: "
    "half of the work for nothing. From which first key on can a block of queries stop?",
    also=(
        build(skip=lambda at: at.k0 > at.q1),
        build(skip=lambda at: at.k0 > at.q1 + at.block_k - 1),
    ),
)
WAYS = (OPERATOR, WHOLE, LARGE, MASK, KEPT, FUTURE)
