"""Performer: softmax attention, estimated by random features at a cost linear in length.

Source: Choromanski et al. 2021, Rethinking Attention with Performers, Eq. 5 and Algorithm 1,
    https://arxiv.org/abs/2009.14794
Ours / theirs: projection = (ω_1, ..., ω_m);  query, key, value = Q, K, V
Differs: one constant taken from the exponents of each query, and one from those of all keys, keep
    exp in range; both cancel, so there is no epsilon. Computed in pieces, as linear attention is.
Same contract as: the weights φ(q)·φ(k), divided by their sum over the keys that a query sees
"""

import torch
from jaxtyping import Float
from torch import Tensor

from course_utils.attention.cheaper.random_features import log_features
from course_utils.attention.core.chunks import pieces
from course_utils.attention.core.kernel import (
    LONG,
    Features,
    causal_kernel_attention,
    kernel_attention,
    no_keys,
    widened,
)
from course_utils.validation import check_query_key_value, check_same_length

_FLOOR = -60.0  # e^-60 is negligible next to any other key, and avoids 0/0 where there is none


def performer_attention(
    query: Float[Tensor, "*batch L d_k"],
    key: Float[Tensor, "*batch S d_k"],
    value: Float[Tensor, "*batch S d_v"],
    projection: Float[Tensor, "m d_k"],
) -> Float[Tensor, "*batch L d_v"]:
    """Return an estimate of softmax attention, scaled by 1/√d_k, that never makes L × S weights.

    Args:
        query: What each position asks for.
        key: What each position offers.
        value: What each position hands over.
        projection: Random rows, as `orthogonal_projection` draws them; more of them err less.
    """
    check_query_key_value(query, key, value)
    if key.shape[-2] == 0:
        return no_keys(query, key, value)
    return kernel_attention(query, key, value, *_features(key, projection))


def causal_performer_attention(
    query: Float[Tensor, "*batch L d_k"],
    key: Float[Tensor, "*batch L d_k"],
    value: Float[Tensor, "*batch L d_v"],
    projection: Float[Tensor, "m d_k"],
) -> Float[Tensor, "*batch L d_v"]:
    """Return the same with each query over itself and its past.

    Args, errors and result are those of `performer_attention`; L = S.
    """
    check_same_length(query, key, value)
    if key.shape[-2] == 0:
        return no_keys(query, key, value)
    return causal_kernel_attention(query, key, value, *_features(key, projection))


def _features(key: Tensor, projection: Tensor) -> tuple[Features, Features]:
    """Return the features of queries and of keys, whose largest is 1."""
    with torch.no_grad():
        peaks = [
            log_features(widened(k), projection).amax(dim=(-2, -1), keepdim=True)
            for (k,) in pieces(LONG, key)
        ]
    peak = torch.stack(peaks).amax(dim=0)

    def of_query(x: Tensor) -> Tensor:
        logs = log_features(x, projection)
        return torch.exp(logs - logs.detach().amax(dim=-1, keepdim=True))

    def of_key(x: Tensor) -> Tensor:
        return torch.exp((log_features(x, projection) - peak).clamp_min(_FLOOR))

    return of_query, of_key
