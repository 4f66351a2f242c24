"""Attention composed from parts: any function of the scores, then a mask, then the softmax.

Source: Dong et al. 2024, Flex Attention: A Programming Model for Generating Optimized Attention
    Kernels, section 3, https://arxiv.org/abs/2412.05496
Ours / theirs: score_mod = score_mod, attn_mask = a mask_mod written out as a table
Differs: score_mod is given the whole table of scores, not one score with its four indices.
Same contract as: torch.nn.attention.flex_attention.flex_attention with enable_gqa=True
"""

import math
from collections.abc import Callable

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from course_utils.attention.core.softmax import stable_softmax
from course_utils.validation import (
    check_callable,
    check_float,
    check_grouped,
    check_mask,
    check_number,
)

ScoreMod = Callable[[Tensor], Tensor]


def composed_scores(
    query: Float[Tensor, "B H L d_k"],
    key: Float[Tensor, "B H_kv S d_k"],
    score_mod: ScoreMod | None = None,
    attn_mask: Bool[Tensor, "#B #H #L #S"] | None = None,
    *,
    scale: float | None = None,
) -> Float[Tensor, "B H L S"]:
    """Return what goes into the softmax: scale, then score_mod, then -inf where the mask hides.

    Args:
        query: What each position asks for, in every head.
        key: What each position offers; query head h reads head h // (H / H_kv).
        score_mod: A function from the scaled scores (B, H, L, S) to new ones of that shape: a cap,
            a bias. None leaves them.
        attn_mask: True where a query may attend; it broadcasts to (B, H, L, S).
        scale: Factor on the products; None is 1/√d_k.

    Raises:
        ValueError: score_mod changes the shape.
    """
    check_grouped(query, key, key)
    scale = 1.0 / math.sqrt(query.shape[-1]) if scale is None else scale
    check_number(scale=scale)
    scores = grouped_product(query * scale, key.mT)
    if score_mod is not None:
        scores = _changed(scores, score_mod)
    if attn_mask is not None:
        check_mask(attn_mask, scores.shape)
        scores = scores.masked_fill(~attn_mask, -torch.inf)
    return scores


def composed_attention(
    query: Float[Tensor, "B H L d_k"],
    key: Float[Tensor, "B H_kv S d_k"],
    value: Float[Tensor, "B H_kv S d_v"],
    score_mod: ScoreMod | None = None,
    attn_mask: Bool[Tensor, "#B #H #L #S"] | None = None,
    *,
    scale: float | None = None,
) -> Float[Tensor, "B H L d_v"]:
    """Return the averages of the values under the softmax of `composed_scores`.

    The row of a query that may see no key is zeros, whether the mask or score_mod hides them all.
    Arguments and errors are as in `composed_scores`, and the values fit the keys.
    """
    check_grouped(query, key, value)
    scores = composed_scores(query, key, score_mod, attn_mask, scale=scale)
    return grouped_product(stable_softmax(scores), value)


def _changed(scores: Tensor, score_mod: ScoreMod) -> Tensor:
    check_callable(score_mod=score_mod)
    changed = score_mod(scores)
    check_float(**{"what score_mod returns": changed})
    if changed.shape != scores.shape:
        raise ValueError(
            f"score_mod must keep the scores' shape {tuple(scores.shape)}, "
            f"got {tuple(changed.shape)}"
        )
    return changed


def grouped_product(
    rows: Float[Tensor, "B H L n"], shared: Float[Tensor, "B H_kv n m"]
) -> Float[Tensor, "B H L m"]:
    """Return rows @ shared, where each shared head serves a group: its queries are more rows."""
    num_heads, length = rows.shape[1:3]
    groups = (shared.shape[1], num_heads // shared.shape[1])
    products = rows.unflatten(1, groups).flatten(2, 3) @ shared
    return products.unflatten(2, (groups[1], length)).flatten(1, 2)
