"""Faults of published texts, rebuilt in lines of our own.

Each is one function with an exercise's signature, so that the course's own `check` can judge it.
Most are published as code or as a formula in one of the five texts A to E; two are common slips.
What was published as a number or a sentence is in the notebook.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from course_utils.attention import merge_heads
from course_utils.positions import rope_interleaved


@dataclass(frozen=True)
class PublishedFault:
    """One fault.

    Attributes:
        chapter: The chapter that gets it right.
        says: What is wrong with it, in a few words.
        exercise: The exercise whose signature it has.
        wrong: The fault.
        form: Where it stands: as code or as a formula of a text, or nowhere in particular.
    """

    chapter: int
    says: str
    exercise: str
    wrong: Callable[..., Any]
    form: str


def _over_queries(scores: Tensor, value: Tensor, key_mask: Tensor) -> tuple[Tensor, Tensor]:
    hidden = scores.masked_fill(~key_mask.unsqueeze(-2), -torch.inf)
    weights = hidden.softmax(dim=-2)
    return weights @ value, weights


def _after_dropout(query: Tensor, key: Tensor, scale: float | None = None) -> Tensor:
    factor = query.shape[-1] ** -0.5 if scale is None else scale
    return F.dropout((query @ key.mT * factor).softmax(-1), 0.1, training=True)


def _one_matrix(x: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor) -> tuple[Tensor, ...]:
    return x @ W_q, x @ W_q, x @ W_q


def _query_length(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    W_q: Tensor,
    W_k: Tensor,
    W_v: Tensor,
    W_o: Tensor,
    num_heads: int,
    attn_mask: Tensor | None = None,
) -> Tensor:
    batch, length = query.shape[:2]
    q, k, v = (
        (x @ W).view(batch, length, num_heads, -1).transpose(1, 2)
        for x, W in ((query, W_q), (key, W_k), (value, W_v))
    )
    out = F.scaled_dot_product_attention(q, k, v, attn_mask)
    return merge_heads(out) @ W_o


def _minus_a_billion(scores: Tensor, attn_mask: Tensor) -> Tensor:
    return scores.masked_fill(~attn_mask, -1e9).softmax(-1)


def _from_zero(x: Tensor, positions: Tensor, base: float = 10000.0) -> Tensor:
    return rope_interleaved(x, torch.arange(x.shape[-2]), base)


def _mask_of_all_pairs(query: Tensor, key: Tensor, value: Tensor, window: int) -> Tensor:
    place = torch.arange(query.shape[-2])
    apart = place.unsqueeze(-1) - place
    near = (apart >= 0) & (apart < window)
    return F.scaled_dot_product_attention(query, key, value, attn_mask=near)


def _flash(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    block_q: int,
    block_k: int,
    is_causal: bool = False,
    *,
    scaled: bool = False,
    over_keys: bool = False,
    joined: bool = False,
) -> tuple[Tensor, Tensor]:
    """Sum a softmax of each block, without a scale, over as many keys as there are queries."""
    factor = query.shape[-1] ** -0.5 if scaled else 1.0
    num_keys = key.shape[-2] if over_keys else query.shape[-2]
    place = torch.arange(query.shape[-2]).unsqueeze(-1)
    outs, sums = [], []
    for start in range(0, num_keys, block_k):
        k, v = key[..., start : start + block_k, :], value[..., start : start + block_k, :]
        hidden = (torch.arange(start, start + k.shape[-2]) > place) & is_causal
        scores = (query @ k.mT * factor).masked_fill(hidden, -torch.inf)
        outs.append(scores.softmax(-1).nan_to_num(0.0) @ v)
        sums.append(scores.logsumexp(-1))
    shares = torch.stack(sums)
    lse = shares.logsumexp(0)
    kept = (shares - lse).exp() if joined else torch.ones_like(shares)
    return (kept.unsqueeze(-1) * torch.stack(outs)).sum(0), lse


def _only_the_last(
    cache_key: Tensor, cache_value: Tensor, length: int, key: Tensor, value: Tensor
) -> int:
    cache_key[:, :, length : length + 1] = key[:, :, -1:]
    cache_value[:, :, length : length + 1] = value[:, :, -1:]
    return length + 1


def _without_memory(
    x: Tensor,
    memory: Tensor,
    self_attend: Callable[..., Tensor],
    cross_attend: Callable[..., Tensor],
    feed_forward: Callable[[Tensor], Tensor],
    norms: Any,
    pre_norm: bool,
) -> Tensor:
    def part(
        x: Tensor, norm: Callable[[Tensor], Tensor], run: Callable[[Tensor], Tensor]
    ) -> Tensor:
        return x + run(norm(x)) if pre_norm else norm(x + run(x))

    x = part(x, norms[0], self_attend)
    x = part(x, norms[1], lambda stream: cross_attend(stream, stream))
    return part(x, norms[2], feed_forward)


def _all_masked(
    tokens: Tensor, mask_id: int, vocab_size: int, special: Any, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    chance = torch.rand(tokens.shape, generator=generator)
    special = torch.tensor(list(special), dtype=torch.long)
    selected = (chance < 0.15) & ~torch.isin(tokens, special)
    return torch.where(selected, mask_id, tokens), tokens.masked_fill(~selected, -100)


def _slope_size(layers: Any, gradients: Any) -> Tensor:
    relevance = torch.eye(layers[0].shape[-1], dtype=layers[0].dtype).expand_as(layers[0][:, 0])
    for weights, slope in zip(layers, gradients, strict=True):
        relevance = relevance + (weights * slope.abs()).mean(1) @ relevance
    return relevance


def _not_normalised(query: Tensor, key: Tensor, value: Tensor, temperature: float) -> Tensor:
    return ((query.mT @ key * temperature).softmax(-1) @ value.mT).mT


def _columns(state: Tensor, patterns: Tensor, beta: float) -> Tensor:
    return (beta * state @ patterns).softmax(-1) @ patterns


def _heads_by_view(x: Tensor, num_heads: int) -> Tensor:
    return x.contiguous().view(len(x), num_heads, -1, x.shape[-1] // num_heads)


FAULTS = (
    PublishedFault(2, "softmax over the other index", "attend",
                   _over_queries, "formula of D"),
    PublishedFault(3, "weights returned after dropout", "attention_weights",
                   _after_dropout, "code of A"),
    PublishedFault(4, "Q = K = V = XW", "project_qkv",
                   _one_matrix, "formula of C"),
    PublishedFault(5, "keys cut by the query's length", "multi_head_attention",
                   _query_length, "code of E"),
    PublishedFault(5, "heads cut by view alone", "split_heads",
                   _heads_by_view, "common slip"),
    PublishedFault(6, "-1e9, and an empty row", "masked_softmax",
                   _minus_a_billion, "code of A"),
    PublishedFault(7, "RoPE that always counts from 0", "rope_interleaved",
                   _from_zero, "code of D"),
    PublishedFault(8, "a window as a mask", "sliding_window_attention",
                   _mask_of_all_pairs, "code of D"),
    PublishedFault(9, "three faults of a flash sketch", "tiled_attention",
                   _flash, "code of A"),
    PublishedFault(10, "only the last new token cached", "append_kv",
                   _only_the_last, "code of A"),
    PublishedFault(11, "cross-attention that reads itself", "decoder_layer",
                   _without_memory, "code of B"),
    PublishedFault(12, "every chosen token masked", "mask_tokens",
                   _all_masked, "common slip"),
    PublishedFault(13, "the size of the gradient", "gradient_attention",
                   _slope_size, "formula of D"),
    PublishedFault(14, "not normalised", "cross_covariance_attention",
                   _not_normalised, "formula of D"),
    PublishedFault(15, "patterns in columns, read as rows", "hopfield_update",
                   _columns, "formula of D"),
)  # fmt: skip

# The sketch of chapter 09 with one of its three faults left.
CORRECTED = {
    "no scale left": partial(_flash, over_keys=True, joined=True),
    "keys counted by queries left": partial(_flash, scaled=True, joined=True),
    "a softmax in each block left": partial(_flash, scaled=True, over_keys=True),
    "none left": partial(_flash, scaled=True, over_keys=True, joined=True),
}
