"""Sliding-window attention that costs length · window, in time and in memory.

Source: Beltagy et al. 2020, Longformer: The Long-Document Transformer, section 3.1,
    https://arxiv.org/abs/2004.05150; the causal window is Jiang et al. 2023, Mistral 7B, section 2,
    https://arxiv.org/abs/2310.06825
Ours / theirs: window = W of Hugging Face's Mistral, which counts the query's own key (the paper's
    text and its authors' code see W + 1 keys);  half_width = w/2 of Longformer, to each side
Differs: nothing of size L × L is ever made. A mask of that size on dense scores, as often
    published, is the same function at the full cost.
Same contract as: SDPA under the mask that allows i - window < j <= i
"""

import math
from collections.abc import Iterator

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from course_utils.attention.core.chunks import ROWS, joined, windows
from course_utils.attention.core.softmax import stable_softmax
from course_utils.validation import check_at_least, check_same_dtype, check_same_length


def sliding_window_attention(
    query: Float[Tensor, "B H L d_k"],
    key: Float[Tensor, "B H L d_k"],
    value: Float[Tensor, "B H L d_v"],
    window: int,
) -> Float[Tensor, "B H L d_v"]:
    """Return causal attention in which each query sees the last `window` keys, its own among them.

    A loop over short runs of queries. All runs see their keys through the same band, so one mask
    of ROWS × (ROWS + window - 1) numbers serves the whole sequence.

    Args:
        query: What each position asks for.
        key: What each position offers.
        value: What each position hands over.
        window: How many keys a query sees at most; it may exceed L, which is causal attention.
    """
    _check(query, key, value)
    check_at_least(1, window=window)
    return joined(_runs(query, key, value, window), query.shape[-2], query, key, value)


def _runs(query: Tensor, key: Tensor, value: Tensor, window: int) -> Iterator[Tensor]:
    length = query.shape[-2]
    first = min(window, length)
    # Up to here a window reaches past the start: these queries are plainly causal.
    q, k, v = (x[..., :first, :] for x in (query, key, value))
    yield F.scaled_dot_product_attention(q, k, v, is_causal=True)
    if first == length:
        return
    band, rest = _band(window, query), (length - first) % ROWS
    stop = length - rest
    if first < stop:
        runs = query[..., first:stop, :].split(ROWS, dim=-2)
        near = (windows(x[..., 1:stop, :], ROWS + window - 1, ROWS) for x in (key, value))
        for q, k, v in zip(runs, *near, strict=True):
            yield F.scaled_dot_product_attention(q, k, v, attn_mask=band)
    if rest:
        k, v = (x[..., stop - window + 1 :, :] for x in (key, value))
        mask = band[:rest, : rest + window - 1]
        yield F.scaled_dot_product_attention(query[..., stop:, :], k, v, attn_mask=mask)


def blocked_window_attention(
    query: Float[Tensor, "B H L d_k"],
    key: Float[Tensor, "B H L d_k"],
    value: Float[Tensor, "B H L d_v"],
    window: int,
) -> Float[Tensor, "B H L d_v"]:
    """Return the same as `sliding_window_attention`, all at once and without a loop.

    The sequence is cut into blocks of `window` rows, and each block of queries meets two blocks of
    keys: its own and the one before. That covers all a query can see, and is at most twice as much.

    Args, errors and result are those of `sliding_window_attention`.
    """
    _check(query, key, value)
    check_at_least(1, window=window)
    length = query.shape[-2]
    if length == 0:
        return query @ key.mT @ value
    size = min(window, length)
    fill = -length % size  # rows that fill the last block; no real query sees them
    blocks = F.pad(query, (0, 0, 0, fill)).unflatten(-2, (-1, size))
    keys, values = (
        F.pad(x, (0, 0, size, fill)).unfold(-2, 2 * size, size).mT for x in (key, value)
    )
    row, column = torch.arange(size).unsqueeze(-1), torch.arange(2 * size)
    seen = (column > row) & (column <= row + size)
    seen = seen.repeat(blocks.shape[-3], 1, 1).to(query.device)
    seen[:1, :, :size] = False  # before the first block there is nothing
    scores = blocks @ keys.mT / math.sqrt(query.shape[-1])
    weights = stable_softmax(scores.masked_fill(~seen, -torch.inf))
    return (weights @ values).flatten(-3, -2)[..., :length, :]


def global_window_attention(
    query: Float[Tensor, "B H L d_k"],
    key: Float[Tensor, "B H L d_k"],
    value: Float[Tensor, "B H L d_v"],
    half_width: int,
    num_global: int,
) -> Float[Tensor, "B H L d_v"]:
    """Return attention to a window on both sides, and to a few tokens that everybody sees.

    The window holds 2 · half_width + 1 keys. The first `num_global` tokens, or all if there are
    fewer, see all keys and are seen by all queries, as Longformer's. Not causal. Neither number is
    negative. The other arguments and the errors are as in `sliding_window_attention`.
    """
    _check(query, key, value)
    check_at_least(0, half_width=half_width, num_global=num_global)
    parts = _global_runs(query, key, value, half_width, num_global)
    return joined(parts, query.shape[-2], query, key, value)


def _global_runs(
    query: Tensor, key: Tensor, value: Tensor, half_width: int, num_global: int
) -> Iterator[Tensor]:
    yield F.scaled_dot_product_attention(query[..., :num_global, :], key, value)
    local = query[..., num_global:, :]
    length, device = local.shape[-2], query.device
    if not length:
        return
    size, fill = ROWS + 2 * half_width, -length % ROWS
    around = (0, 0, half_width, half_width + fill)
    everywhere = [x[..., :num_global, :] for x in (key, value)]
    near = [windows(F.pad(x[..., num_global:, :], around), size, ROWS) for x in (key, value)]
    column = torch.arange(size, device=device)
    distance = column - half_width - torch.arange(ROWS, device=device).unsqueeze(-1)
    band = distance.abs() <= half_width
    for number, (run, *own) in enumerate(zip(local.split(ROWS, -2), *near, strict=True)):
        place = number * ROWS - half_width + column
        seen = F.pad(band & (place >= 0) & (place < length), (num_global, 0), value=True)
        keys, values = (torch.cat(pair, -2) for pair in zip(everywhere, own, strict=True))
        mask = seen[: run.shape[-2]]
        yield F.scaled_dot_product_attention(run, keys, values, attn_mask=mask)


def _band(window: int, like: Tensor) -> Tensor:
    """Return an additive mask: 0 where row i sees columns i to i + window - 1, -inf elsewhere."""
    row = torch.arange(ROWS, device=like.device).unsqueeze(-1)
    column = torch.arange(ROWS + window - 1, device=like.device)
    hidden = (column < row) | (column >= row + window)
    return like.new_zeros(hidden.shape).masked_fill(hidden, -torch.inf)


def _check(query: Tensor, key: Tensor, value: Tensor) -> None:
    check_same_dtype("B heads length width", query=query, key=key, value=value)
    check_same_length(query, key, value)
