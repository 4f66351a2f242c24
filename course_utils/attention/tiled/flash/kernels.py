"""Flash attention as Triton kernels: the forward pass, and both halves of the backward pass.

Source: Dao 2023, FlashAttention-2, algorithms 1 and 2, https://arxiv.org/abs/2307.08691; the two
    loops, the descriptors and the powers of 2 are those of Triton's tutorial "Fused Attention",
    https://triton-lang.org/main/getting-started/tutorials/06-fused-attention.html
Ours / theirs: BLOCK_Q, BLOCK_K = B_r, B_c;  m, l, acc = m, ℓ, Õ;  lse = L;  delta = D
Differs: the backward pass is two kernels, so that no two programs write to the same place: one
    program is one tile of queries (forward, dQ) or of keys (dK and dV). lse is to base 2.

Tensors are passed as descriptors, which know the shape (B, H, length, width): a load past the end
gives zeros, a store there is dropped. So a tile may be ragged, and a width no power of 2. `limit`
says how many keys a query may see; None, for a tile that every query of its tile sees whole, leaves
the comparison out. `extra` and `mod` are those of `mods`: windows, documents, caps and slopes.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, allow-untyped-decorators, allow-untyped-calls
from __future__ import annotations

from course_utils.attention.tiled.flash.mods import (
    PRECISION,
    changed,
    forward_step,
    read_place,
    read_slope,
    read_span,
    tiles_of,
)
from course_utils.triton_interpreter import jit, tl


@jit
def flash_forward_tile(m, l, acc, q, k, v, columns, limit, scale_log2):
    """Accumulate one tile of keys and values into what a tile of queries has seen so far.

    m, l (BLOCK_Q,) and acc (BLOCK_Q, d) are the running maximum of the scaled scores, the sum of
    2^(score - m) and the same sum of values; q (BLOCK_Q, d), k and v (BLOCK_K, d) are loaded tiles,
    columns (BLOCK_K,) the positions of the keys. Returns m, l and acc.
    """
    scores = tl.dot(q, tl.trans(k), input_precision=PRECISION)
    if limit is not None:
        scores = tl.where(columns[None, :] < limit[:, None], scores, float("-inf"))
    m_new = tl.maximum(m, tl.max(scores, 1) * scale_log2)
    weights = tl.exp2(scores * scale_log2 - m_new[:, None])
    shrink = tl.exp2(m - m_new)
    l = l * shrink + tl.sum(weights, 1)
    acc = acc * shrink[:, None]
    acc = tl.dot(weights.to(v.dtype), v, acc, input_precision=PRECISION)
    return m_new, l, acc


@jit
def forward_kernel(
    query, key, value, out, lse, scale, num_queries, num_keys, extra,
    GROUP: tl.constexpr, IS_CAUSAL: tl.constexpr, mod: tl.constexpr, tile: tl.constexpr,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, D: tl.constexpr, D_V: tl.constexpr,
):  # fmt: skip
    """Attend from one tile of queries to all keys; write out, and lse as a power of 2."""
    batch, head = tl.program_id(2), tl.program_id(1)
    # The last tile first: under a causal mask it has the most keys.
    first = (tl.num_programs(0) - 1 - tl.program_id(0)) * BLOCK_Q
    rows = first + tl.arange(0, BLOCK_Q)
    low, limit = None, tl.zeros_like(rows) + num_keys
    whole, stop = num_keys, num_keys
    if IS_CAUSAL:
        limit = tl.minimum(limit, rows + 1)
        whole, stop = tl.minimum(num_keys, first + 1), tl.minimum(num_keys, first + BLOCK_Q)
    whole = whole // BLOCK_K * BLOCK_K
    begin, inner = 0, 0
    if extra.spans is not None:
        low, limit = read_span(extra.spans, rows, num_queries)
        begin, inner, whole, stop = tiles_of(extra.spans, first, num_queries, BLOCK_Q, BLOCK_K)
    q = query.load([batch, head, first, 0]).reshape(BLOCK_Q, D)
    m = tl.full([BLOCK_Q], float("-inf"), tl.float32)
    l = tl.zeros([BLOCK_Q], tl.float32)
    acc = tl.zeros([BLOCK_Q, D_V], tl.float32)
    place, slope = read_place(extra, rows, num_queries), read_slope(extra, head)
    given = (q, key, value, batch, head // GROUP, place, slope, scale, extra)
    if extra.spans is not None:
        for start in range(begin, inner, BLOCK_K):
            m, l, acc = forward_step(
                m, l, acc, start, low, limit, given, tile, mod, BLOCK_K, D, D_V
            )
    for start in range(inner, whole, BLOCK_K):
        m, l, acc = forward_step(m, l, acc, start, None, None, given, tile, mod, BLOCK_K, D, D_V)
    for start in range(whole, stop, BLOCK_K):
        m, l, acc = forward_step(m, l, acc, start, low, limit, given, tile, mod, BLOCK_K, D, D_V)
    if extra.spans is not None:
        l = tl.where(l == 0.0, 1.0, l)  # a query that sees nothing: zeros
    acc = acc / l[:, None]
    out.store([batch, head, first, 0], acc.to(q.dtype).reshape(1, 1, BLOCK_Q, D_V))
    line = (batch * tl.num_programs(1) + head).to(tl.int64) * num_queries
    tl.store(lse + line + rows, m + tl.log2(l), mask=rows < num_queries)


@jit
def backward_query_kernel(
    query, key, value, out, grad_out, grad_query, lse, delta, scale, num_queries, num_keys, extra,
    GROUP: tl.constexpr, IS_CAUSAL: tl.constexpr, mod: tl.constexpr,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, D: tl.constexpr, D_V: tl.constexpr,
):  # fmt: skip
    """Go over all keys for one tile of queries: write its gradient, and delta for the keys."""
    batch, head = tl.program_id(2), tl.program_id(1)
    first = (tl.num_programs(0) - 1 - tl.program_id(0)) * BLOCK_Q
    rows = first + tl.arange(0, BLOCK_Q)
    limit = tl.zeros_like(rows) + num_keys
    begin, stop = 0, num_keys
    if IS_CAUSAL:
        limit = tl.minimum(limit, rows + 1)
        stop = tl.minimum(num_keys, first + BLOCK_Q)
    if extra.spans is not None:
        low, limit = read_span(extra.spans, rows, num_queries)
        begin, _, _, stop = tiles_of(extra.spans, first, num_queries, BLOCK_Q, BLOCK_K)
    q = query.load([batch, head, first, 0]).reshape(BLOCK_Q, D)
    do = grad_out.load([batch, head, first, 0]).reshape(BLOCK_Q, D_V)
    o = out.load([batch, head, first, 0]).reshape(BLOCK_Q, D_V)
    line = (batch * tl.num_programs(1) + head).to(tl.int64) * num_queries
    row_lse = tl.load(lse + line + rows, mask=rows < num_queries, other=0.0)
    row_delta = tl.sum(o.to(tl.float32) * do.to(tl.float32), 1)
    tl.store(delta + line + rows, row_delta, mask=rows < num_queries)
    dq = tl.zeros([BLOCK_Q, D], tl.float32)
    place, slope = read_place(extra, rows, num_queries)[:, None], read_slope(extra, head)
    for start in range(begin, stop, BLOCK_K):
        columns = start + tl.arange(0, BLOCK_K)
        k = key.load([batch, head // GROUP, start, 0]).reshape(BLOCK_K, D)
        v = value.load([batch, head // GROUP, start, 0]).reshape(BLOCK_K, D_V)
        products = tl.dot(q, tl.trans(k), input_precision=PRECISION)
        scores, factor = changed(products, scale, mod, place, columns[None, :], slope, extra.cap)
        weights = tl.exp2(scores - row_lse[:, None])
        weights = tl.where(columns[None, :] < limit[:, None], weights, 0.0)
        if extra.spans is not None:
            weights = tl.where(columns[None, :] >= low[:, None], weights, 0.0)
        grad_weights = tl.dot(do, tl.trans(v), input_precision=PRECISION)
        grad_scores = weights * (grad_weights - row_delta[:, None]) * factor
        dq = tl.dot(grad_scores.to(k.dtype), k, dq, input_precision=PRECISION)
    dq = dq * scale
    grad_query.store([batch, head, first, 0], dq.to(q.dtype).reshape(1, 1, BLOCK_Q, D))


@jit
def backward_key_value_kernel(
    query, key, value, grad_out, grad_key, grad_value, lse, delta, scale, num_queries, num_keys,
    extra, GROUP: tl.constexpr, IS_CAUSAL: tl.constexpr, mod: tl.constexpr,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, D: tl.constexpr, D_V: tl.constexpr,
):  # fmt: skip
    """Go over all queries, of all heads that share it, for one tile of keys and values."""
    batch, kv_head = tl.program_id(2), tl.program_id(1)
    first = tl.program_id(0) * BLOCK_K
    columns = first + tl.arange(0, BLOCK_K)
    k = key.load([batch, kv_head, first, 0]).reshape(BLOCK_K, D)
    v = value.load([batch, kv_head, first, 0]).reshape(BLOCK_K, D_V)
    dk = tl.zeros([BLOCK_K, D], tl.float32)
    dv = tl.zeros([BLOCK_K, D_V], tl.float32)
    begin, stop = first // BLOCK_Q * BLOCK_Q if IS_CAUSAL else 0, num_queries
    if extra.spans is not None:  # here: of the keys
        low, limit = read_span(extra.spans, columns, num_keys)
        begin, _, _, stop = tiles_of(extra.spans, first, num_keys, BLOCK_K, BLOCK_Q)
    for head in range(kv_head * GROUP, (kv_head + 1) * GROUP):
        line = (batch * tl.num_programs(1) * GROUP + head).to(tl.int64) * num_queries
        slope = read_slope(extra, head)
        for start in range(begin, stop, BLOCK_Q):
            rows = start + tl.arange(0, BLOCK_Q)
            q = query.load([batch, head, start, 0]).reshape(BLOCK_Q, D)
            do = grad_out.load([batch, head, start, 0]).reshape(BLOCK_Q, D_V)
            # Rows beyond the last query get weights 2^-inf = 0.
            row_lse = tl.load(lse + line + rows, mask=rows < num_queries, other=float("inf"))
            # Everything is transposed here: keys down, queries across.
            products = tl.dot(k, tl.trans(q), input_precision=PRECISION)
            place = read_place(extra, rows, num_queries)[None, :]
            scores, factor = changed(
                products, scale, mod, place, columns[:, None], slope, extra.cap
            )
            weights = tl.exp2(scores - row_lse[None, :])
            if IS_CAUSAL:
                weights = tl.where(columns[:, None] <= rows[None, :], weights, 0.0)
            if extra.spans is not None:
                seen = (rows[None, :] >= low[:, None]) & (rows[None, :] < limit[:, None])
                weights = tl.where(seen, weights, 0.0)
            # dV before the rest: in this order everything fits in registers at width 128.
            dv = tl.dot(weights.to(do.dtype), do, dv, input_precision=PRECISION)
            grad_weights = tl.dot(v, tl.trans(do), input_precision=PRECISION)
            row_delta = tl.load(delta + line + rows, mask=rows < num_queries, other=0.0)
            grad_scores = weights * (grad_weights - row_delta[None, :]) * factor
            dk = tl.dot(grad_scores.to(q.dtype), q, dk, input_precision=PRECISION)
    dk = dk * scale
    grad_key.store([batch, kv_head, first, 0], dk.to(k.dtype).reshape(1, 1, BLOCK_K, D))
    grad_value.store([batch, kv_head, first, 0], dv.to(v.dtype).reshape(1, 1, BLOCK_K, D_V))
