"""Multi-head latent attention: keep one short vector per token instead of all keys and values.

Source: DeepSeek-AI 2024, DeepSeek-V2, section 2.1, Eq. 9 to 19, https://arxiv.org/abs/2405.04434
Ours / theirs: a row of the cache = (c_t^KV, k_t^R);  W_uk, W_uv = W^UK, W^UV, a (r, width) matrix
    for each head;  query = (q^C, q^R);  r, d_k, d_rope = d_c, d_h, d_h^R
Differs: queries are not compressed and the latent vector is not normalised. Rotating the parts
    that carry the position is the caller's. The module with both is `CompressedLatentAttention`.
Same contract as: each other: the absorbed form computes the same and never makes keys or values
"""

import math

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from course_utils.attention.cheaper.grouped_query import grouped_query_attention
from course_utils.attention.core.scaled_dot_product import scaled_dot_product_attention
from course_utils.validation import check_same_dtype


def latent_attention(
    query: Float[Tensor, "B H L d_k+d_rope"],
    cache: Float[Tensor, "B S r+d_rope"],
    W_uk: Float[Tensor, "H r d_k"],
    W_uv: Float[Tensor, "H r d_v"],
    attn_mask: Bool[Tensor, "#B #H #L #S"] | None = None,
) -> Float[Tensor, "B H L d_v"]:
    """Return attention to the keys and values that every head makes of the latent vectors.

    This is the form for training: it makes H · (d_k + d_rope + d_v) numbers for each token.

    Args:
        query: What each position asks for: what it is about, then its rotated part.
        cache: What was kept of each token: the latent vector, then one rotated key for all heads.
        W_uk: Makes each head's keys of the latent vectors.
        W_uv: Makes each head's values of the latent vectors.
        attn_mask: True where a query may attend; it broadcasts to (B, H, L, S).
    """
    _check(query, cache, W_uk, W_uv)
    latent, rotated = cache.unsqueeze(1).tensor_split((W_uk.shape[1],), dim=-1)
    rotated = rotated.expand(-1, query.shape[1], -1, -1)
    key = torch.cat((latent @ W_uk, rotated), dim=-1)
    return scaled_dot_product_attention(query, key, latent @ W_uv, attn_mask)


def absorbed_latent_attention(
    query: Float[Tensor, "B H L d_k+d_rope"],
    cache: Float[Tensor, "B S r+d_rope"],
    W_uk: Float[Tensor, "H r d_k"],
    W_uv: Float[Tensor, "H r d_v"],
    attn_mask: Bool[Tensor, "#B #H #L #S"] | None = None,
) -> Float[Tensor, "B H L d_v"]:
    """Return the same as `latent_attention`, for decoding: the cache serves as keys and values.

    q·(W_ukᵀ c) = (W_uk q)·c: the matrix that makes keys moves to the query, and the one that makes
    values after the average. What is left is attention with one key head for all query heads.

    Args, errors and result are those of `latent_attention`.
    """
    _check(query, cache, W_uk, W_uv)
    d_latent, d_k = W_uk.shape[1:]
    about, rotated = query.tensor_split((d_k,), dim=-1)
    asked = torch.cat((about @ W_uk.mT, rotated), dim=-1)
    # The scale is that of the keys, which are never made.
    asked = asked * math.sqrt(asked.shape[-1] / query.shape[-1])
    keys = cache.unsqueeze(1)
    # The whole keys serve as values: slicing them would cost a copy; a few extra columns do not.
    return grouped_query_attention(asked, keys, keys, attn_mask)[..., :d_latent] @ W_uv


def _check(query: Tensor, cache: Tensor, W_uk: Tensor, W_uv: Tensor) -> None:
    check_same_dtype("B heads length width", query=query)
    check_same_dtype(query=query, cache=cache, W_uk=W_uk, W_uv=W_uv)
    if cache.dim() != 3 or cache.shape[0] != query.shape[0]:
        raise ValueError(
            f"cache must have the axes ({query.shape[0]}, S, width), got {tuple(cache.shape)}"
        )
    for name, weight in (("W_uk", W_uk), ("W_uv", W_uv)):
        if weight.dim() != 3 or weight.shape[:2] != (query.shape[1], W_uk.shape[1]):
            raise ValueError(
                f"{name} must have a matrix of the same height for each of the {query.shape[1]} "
                f"heads, got {tuple(weight.shape)}"
            )
    rotated = cache.shape[-1] - W_uk.shape[1]
    if rotated < 0 or query.shape[-1] - W_uk.shape[2] != rotated:
        raise ValueError(
            "query and cache need a rotated part of the same width behind the "
            f"{W_uk.shape[2]} and {W_uk.shape[1]} numbers of W_uk, "
            f"got widths {query.shape[-1]} and {cache.shape[-1]}"
        )
