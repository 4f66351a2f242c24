"""Tiled attention cheap enough for training: the backward pass recomputes every tile.

Autograd keeps what each operation saw, so under it a loop over tiles keeps all of them: n² numbers
again. Here the forward pass keeps, apart from its inputs, out and one number per query.

Source: Dao 2023, FlashAttention-2, algorithms 1 and 2, https://arxiv.org/abs/2307.08691
Ours / theirs: ROWS, KEYS = B_r, B_c;  lse2 = L / log 2;  delta = D
Differs: the steps of `tiled`, but one head after the other, in place, in a piece of memory that
    stays in the processor's cache. Powers are of 2, which both processors and GPUs compute faster
    than those of e; half precision is summed in float32.
Same contract as: torch.nn.functional.scaled_dot_product_attention with `enable_gqa=True`, causal
    aligned top-left
"""
# ruff: noqa: E741 (l is the papers' letter)

import math
from collections.abc import Iterator
from itertools import product
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from course_utils.attention.core.kernel import widened
from course_utils.attention.tiled.tiles import check_tiled, mask_future, tiles

ROWS, KEYS = (
    512,
    512,
)  # a mebibyte of scores; benchmarks/chapters/ch09/chapter_09_tiled.py times the others
DIAGONAL = 128  # keys of a tile that the causal mask cuts: narrow, so that little is wasted
LOG2_E = math.log2(math.e)


def recomputed_attention(
    query: Float[Tensor, "B H L d_k"],
    key: Float[Tensor, "B H_kv S d_k"],
    value: Float[Tensor, "B H_kv S d_v"],
    is_causal: bool = False,
) -> Float[Tensor, "B H L d_v"]:
    """Return attention whose memory is linear in the length, in the backward pass too.

    Args:
        query: What each position asks for.
        key: What each position offers. H_kv divides H: query head h reads head h // (H // H_kv).
        value: What each position hands over.
        is_causal: Whether query i sees only the keys 0 to i.
    """
    check_tiled(query, key, value, ROWS, KEYS, is_causal)
    return _Recomputed.apply(query, key, value, is_causal)  # type: ignore[no-untyped-call]


class _Recomputed(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, query: Tensor, key: Tensor, value: Tensor, is_causal: bool) -> Tensor:
        out = query.new_zeros(*query.shape[:-1], value.shape[-1])
        lse2 = torch.full_like(out[..., :1], -torch.inf, dtype=widened(out[:0]).dtype)
        tile = lse2.new_empty(ROWS * KEYS)
        for head, read in _heads(query, key):
            _forward(query[head], key[read], value[read], out[head], lse2[head], is_causal, tile)
        ctx.save_for_backward(query, key, value, out, lse2)
        ctx.is_causal = is_causal
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_out: Tensor) -> tuple[Tensor | None, ...]:
        query, key, value, out, lse2 = ctx.saved_tensors
        grads = [torch.zeros_like(x, dtype=lse2.dtype) for x in (query, key, value)]
        buffers = lse2.new_empty(2, ROWS * KEYS)
        for head, read in _heads(query, key):
            at = head, read, read, head, head, head
            pairs = zip((query, key, value, out, lse2, grad_out), at, strict=True)
            slopes = [x[i] for x, i in zip(grads, at, strict=False)]
            _backward([x[i] for x, i in pairs], slopes, ctx.is_causal, buffers)
        return *(x.to(grad_out.dtype) for x in grads), None


def _heads(query: Tensor, key: Tensor) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """Yield every head of every sequence, and the head of keys and values that it reads."""
    group = query.shape[1] // key.shape[1]
    for batch, head in product(*map(range, query.shape[:2])):
        yield (batch, head), (batch, head // group)


def _forward(
    query: Tensor, key: Tensor, value: Tensor, out: Tensor, lse2: Tensor, is_causal: bool,
    tile: Tensor,
) -> None:  # fmt: skip
    """Write one head's output and, in powers of 2, its logsumexp."""
    for rows in tiles(len(query), ROWS):
        q = _scaled(query[rows])
        state = lse2[rows], torch.zeros_like(lse2[rows]), q.new_zeros(len(q), value.shape[-1])
        for skip, keys in _visits(rows, len(key), is_causal):
            m, l, acc = (x[skip:] for x in state)
            scores = _scores(q[skip:], widened(key[keys]), rows.start + skip, keys, is_causal, tile)
            m_new = torch.maximum(m, scores.amax(dim=-1, keepdim=True))
            weights = scores.sub_(m_new).exp2_()
            shrink = m.sub_(m_new).exp2_()
            l.mul_(shrink).add_(weights.sum(dim=-1, keepdim=True))
            acc.mul_(shrink).addmm_(weights, widened(value[keys]))
            m.copy_(m_new)
        if len(key):
            m, l, acc = state
            out[rows] = acc.div_(l)
            m.add_(l.log2_())


def _backward(saw: list[Tensor], grads: list[Tensor], is_causal: bool, buffers: Tensor) -> None:
    """Add one head's gradients to zeros."""
    query, key, value, out, lse2, grad_out = saw
    dq, dk, dv = grads
    scale = 1.0 / math.sqrt(query.shape[-1])
    for rows in tiles(len(query), ROWS):
        grad = widened(grad_out[rows])
        delta = (grad * out[rows]).sum(dim=-1, keepdim=True)
        ours = _scaled(query[rows]), grad, delta, lse2[rows], dq[rows]
        for skip, keys in _visits(rows, len(key), is_causal):
            q, g, mean, top, dq_rows = (x[skip:] for x in ours)
            k, v = widened(key[keys]), widened(value[keys])
            scores = _scores(q, k, rows.start + skip, keys, is_causal, buffers[0])
            weights = scores.sub_(top).exp2_()
            dv[keys].addmm_(weights.mT, g)
            grad_weights = _product(g, v, buffers[1])
            grad_scores = grad_weights.sub_(mean).mul_(weights)
            dq_rows.addmm_(grad_scores, k, alpha=scale)
            dk[keys].addmm_(grad_scores.mT, q, alpha=1 / LOG2_E)  # q is scaled already


def _visits(rows: slice, num_keys: int, is_causal: bool) -> Iterator[tuple[int, slice]]:
    """Yield tiles of keys, each with the number of leading queries that see none of it."""
    past = min(rows.start, num_keys) if is_causal else num_keys
    for keys in tiles(past, KEYS):
        yield 0, keys
    if is_causal:
        end = min(rows.stop, num_keys)
        for start in range(rows.start, end, DIAGONAL):
            yield start - rows.start, slice(start, min(start + DIAGONAL, end))


def _scaled(rows: Tensor) -> Tensor:
    """Return the queries such that 2 to the power of a score is e to the power of the real one."""
    return widened(rows) * (LOG2_E / math.sqrt(rows.shape[-1]))


def _scores(q: Tensor, k: Tensor, first: int, keys: slice, is_causal: bool, tile: Tensor) -> Tensor:
    scores = _product(q, k, tile)
    if is_causal:  # a tile is cut in its first rows only: in as many as it has keys
        cut = scores[: len(k)]
        mask_future(cut, slice(first, first + len(cut)), keys)
    return scores


def _product(a: Tensor, b: Tensor, tile: Tensor) -> Tensor:
    """Return a bᵀ, written to the start of the tile's memory."""
    return torch.mm(a, b.mT, out=tile[: len(a) * len(b)].view(len(a), len(b)))
