"""Right answers in other styles for the exercise of chapter 09 that is written in Triton."""

import math

import triton
import triton.language as tl
from triton import language


def tile_as_the_formulas(m, l, acc, q, k, v, columns, limit, scale_log2):
    scores = tl.dot(q, tl.trans(k)) * scale_log2
    if limit is not None:
        scores = tl.where(columns[None, :] < limit[:, None], scores, float("-inf"))
    m_new = tl.maximum(m, tl.max(scores, 1))
    weights = tl.exp2(scores - m_new[:, None])
    shrink = tl.exp2(m - m_new)
    l = l * shrink + tl.sum(weights, 1)
    acc = tl.dot(weights.to(v.dtype), v, acc * shrink[:, None])
    return m_new, l, acc


@triton.jit
def tile_decorated(m_i, l_i, acc, q, k, v, columns, limit, qk_scale):
    """The tutorial's names and order: the maximum before the scale, alpha on acc first."""
    qk = tl.dot(q, k.T)
    if limit is not None:
        qk += tl.where(columns[None, :] < limit[:, None], 0.0, -1.0e9)
    m_ij = tl.maximum(m_i, tl.max(qk, 1) * qk_scale)
    qk = qk * qk_scale - m_ij[:, None]
    p = tl.math.exp2(qk)
    alpha = tl.math.exp2(m_i - m_ij)
    acc = acc * alpha[:, None]
    acc += tl.dot(p.to(v.dtype), v)
    l_i = l_i * alpha + tl.sum(p, 1)
    return m_ij, l_i, acc


def tile_in_powers_of_e(m, l, acc, q, k, v, columns, limit, scale_log2):
    ln2 = 0.6931471805599453
    scores = tl.dot(q, tl.trans(k), input_precision="ieee") * (scale_log2 * ln2)
    if limit is not None:
        scores = tl.where(columns[None, :] >= limit[:, None], -float("inf"), scores)
    top = tl.maximum(m * ln2, tl.max(scores, axis=1))
    weights = tl.exp(scores - top[:, None])
    shrink = tl.exp(m * ln2 - top)
    acc = acc * shrink[:, None] + tl.dot(weights.to(v.dtype), v)
    return top / ln2, l * shrink + tl.sum(weights, axis=1), acc


def tile_by_products(m, l, acc, q, k, v, columns, limit, scale_log2):
    """No tl.dot at all: products of all pairs, summed."""
    q32, k32, v32 = q.to(tl.float32), k.to(tl.float32), v.to(tl.float32)
    scores = tl.sum(q32[:, None, :] * k32[None, :, :], 2) * scale_log2
    if limit is not None:
        scores = tl.where(columns[None, :] < limit[:, None], scores, float("-inf"))
    m_new = tl.maximum(m, tl.max(scores, 1))
    weights = tl.exp2(scores - m_new[:, None])
    shrink = tl.exp2(m - m_new)
    gathered = tl.sum(weights[:, :, None] * v32[None, :, :], 1)
    return m_new, l * shrink + tl.sum(weights, 1), acc * shrink[:, None] + gathered


def tile_with_weights_hidden(m, l, acc, q, k, v, columns, limit, scale_log2):
    """A low score keeps hidden keys out of the maximum; their weights are set to 0 besides."""
    scores = language.dot(q, language.trans(k)) * scale_log2
    seen = scores > float("-inf")
    if limit is not None:
        seen = columns[None, :] < limit[:, None]
    scores = language.where(seen, scores, -1.0e38)
    m_new = language.maximum(m, language.max(scores, 1))
    weights = language.where(seen, language.exp2(scores - m_new[:, None]), 0.0)
    shrink = language.exp2(m - m_new)
    l = l * shrink + language.sum(weights, 1)
    acc = acc * shrink[:, None] + language.dot(weights.to(v.dtype), v)
    return m_new, l, acc


def tile_merged(m, l, acc, q, k, v, columns, limit, scale_log2):
    """The tile's own softmax first, unnormalised; then two states become one."""
    scores = tl.dot(q, tl.trans(k)) * scale_log2
    if limit is not None:
        scores = tl.where(columns[None, :] < limit[:, None], scores, float("-inf"))
    here = tl.maximum(tl.max(scores, 1), -1.0e38)
    weights = tl.exp2(scores - here[:, None])
    m_new = tl.maximum(m, here)
    old, new = tl.exp2(m - m_new), tl.exp2(here - m_new)
    l = old * l + new * tl.sum(weights, 1)
    acc = old[:, None] * acc + new[:, None] * tl.dot(weights.to(v.dtype), v)
    return m_new, l, acc


def tile_by_methods(m, l, acc, q, k, v, columns, limit, scale_log2):
    scores = tl.dot(q, k.trans()) * scale_log2
    if limit is not None:
        hidden = columns.expand_dims(0) >= limit.expand_dims(1)
        scores = tl.where(hidden, -math.inf, scores)
    m_new = tl.maximum(scores.max(1), m)
    weights = tl.exp2(scores - m_new.expand_dims(1))
    shrink = tl.exp2(m - m_new)
    sums = weights.sum(1)
    return m_new, sums + shrink * l, shrink[:, None] * acc + tl.dot(weights.to(v.dtype), v)


@triton.jit
def _visible(columns, limit):
    return columns[None, :] < limit[:, None]


def tile_with_a_helper(m, l, acc, q, k, v, columns, limit, scale_log2):
    scores = tl.dot(q, tl.trans(k)) * scale_log2
    if limit is not None:
        scores = tl.where(_visible(columns, limit), scores, float("-inf"))
    state = (tl.maximum(m, tl.max(scores, 1)),)
    m_new = state[0]
    weights = tl.exp2(scores - m_new[:, None])
    shrink = tl.exp2(m - m_new)
    acc = acc * shrink[:, None] + tl.dot(weights, v.to(tl.float32))
    return m_new, l * shrink + tl.sum(weights, 1), acc


RIGHT_WAYS_CH09_KERNEL = {
    "flash_forward_tile": (
        tile_as_the_formulas,
        tile_decorated,
        tile_in_powers_of_e,
        tile_by_products,
        tile_with_weights_hidden,
        tile_merged,
        tile_by_methods,
        tile_with_a_helper,
    ),
}
