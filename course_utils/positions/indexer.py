"""The lightning indexer: a small scorer chooses the few keys that each query then attends to.

Source: DeepSeek-AI 2025, DeepSeek-V3.2: Pushing the Frontier of Open Large Language Models,
    section 2.1, Eq. 1, https://arxiv.org/abs/2512.02556
Ours / theirs: query, key, head_weights = q^I, k^I, w^I;  index_scores = I;  t, s are query and key
Differs: all features are rotated, where the released model rotates the first 64 of 128; neither
    1/√d nor 1/√H scales the scores, since a positive factor changes no choice; no Hadamard
    transform and no 8-bit numbers
Same contract as: causal attention's mask, where top_k is at least the length
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from course_utils.attention.masks.causal import causal_mask
from course_utils.positions.rope import rope_split_halves
from course_utils.validation import check_at_least, check_float, check_same_dtype, check_shape


def index_scores(
    query: Float[Tensor, "B H L d_k"],
    key: Float[Tensor, "B L d_k"],
    head_weights: Float[Tensor, "B H L"],
    base: float = 10000.0,
) -> Float[Tensor, "B L L"]:
    """Return how well each key suits each query: a weighted sum of positive products over heads.

    Query and key are rotated here, in pairs (i, i + d_k/2), token t by position t. Keys of the
    future have scores too.

    Args:
        query: What each token asks for, in each of the indexer's heads; not rotated.
        key: What each token offers, one key for all heads; not rotated.
        head_weights: How much each head counts, as the query's token says.
        base: The base of the frequencies.
    """
    check_float("B H L d_k", query=query)
    check_same_dtype(query=query, key=key, head_weights=head_weights)
    batch, heads, length, d_k = query.shape
    check_shape((batch, length, d_k), key=key)
    check_shape((batch, heads, length), head_weights=head_weights)
    at = torch.arange(length, device=key.device)
    asked = rope_split_halves(query, at, base)
    offered = rope_split_halves(key.unsqueeze(1), at, base)
    return (head_weights.unsqueeze(-1) * (asked @ offered.mT).relu()).sum(1)


def choose_keys(
    query: Float[Tensor, "B H L d_k"],
    key: Float[Tensor, "B L d_k"],
    head_weights: Float[Tensor, "B H L"],
    top_k: int,
    base: float = 10000.0,
) -> Bool[Tensor, "B L L"]:
    """Return the mask of the keys that each query may attend to: the `top_k` best of its past.

    One choice serves all heads of the attention that follows. A query with fewer than `top_k` keys
    up to itself sees them all. The choice has no gradient: the indexer learns by `index_scores`.

    Args:
        query: What each token asks for, in each of the indexer's heads; not rotated.
        key: What each token offers, one key for all heads; not rotated.
        head_weights: How much each head counts, as the query's token says.
        top_k: How many keys a query may attend to.
        base: The base of the frequencies.
    """
    check_at_least(1, top_k=top_k)
    scores = index_scores(query, key, head_weights, base).detach()
    length = scores.shape[-1]
    past = causal_mask(length, length).to(scores.device)
    best = scores.masked_fill(~past, -torch.inf).topk(min(top_k, length), dim=-1).indices
    return torch.zeros_like(scores, dtype=torch.bool).scatter(-1, best, True) & past
