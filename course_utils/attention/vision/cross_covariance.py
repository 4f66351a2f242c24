"""Cross-covariance attention: features attend to features, so the cost is linear in the length.

Source: El-Nouby et al. 2021, XCiT: Cross-Covariance Image Transformers, Eq. 3,
    https://arxiv.org/abs/2106.09681
Ours / theirs: temperature = 1/τ of the paper, and `temperature` of its code: it multiplies;
    query, key, value = Q, K, V of one head
Differs: the tokens are processed in pieces, so no second copy of queries and keys is held.
Same contract as: softmax(q̂ᵀ k̂ · temperature) over the key's features, applied to the values
"""

import torch
from jaxtyping import Float
from torch import Tensor

from course_utils.attention.core.chunks import joined, pieces
from course_utils.attention.core.kernel import LONG, widened
from course_utils.validation import check_float, check_same_dtype, check_same_length

_SMALLEST = 1e-12  # as torch.nn.functional.normalize: a feature that is 0 everywhere stays 0


def cross_covariance_attention(
    query: Float[Tensor, "B H L d"],
    key: Float[Tensor, "B H L d"],
    value: Float[Tensor, "B H L d"],
    temperature: float | Float[Tensor, "H 1 1"],
) -> Float[Tensor, "B H L d"]:
    """Return each token's values, mixed by how alike the features of queries and keys are.

    The weights are d × d. Every token contributes to them, in no order, so nothing is causal.

    Args:
        query: Its columns, of length 1 over the tokens, ask.
        key: Its columns, of length 1 over the tokens, are asked.
        value: What is mixed, feature by feature.
        temperature: Factor on the scores; larger is sharper.
    """
    _check(query, key, value, temperature)
    lengths = [
        torch.linalg.vector_norm(widened(x), dim=-2, keepdim=True).clamp_min(_SMALLEST)
        for x in (query, key)
    ]
    parts = [
        (widened(q) / lengths[0]).mT @ (widened(k) / lengths[1])
        for q, k in pieces(LONG, query, key)
    ]
    scores = torch.stack(parts).sum(0) * temperature
    weights = torch.softmax(scores, dim=-1).to(value.dtype)
    mixed = (v @ weights.mT for (v,) in pieces(LONG, value))
    return joined(mixed, value.shape[-2], weights, value)


def _check(query: Tensor, key: Tensor, value: Tensor, temperature: float | Tensor) -> None:
    check_same_dtype("B heads length width", query=query, key=key, value=value)
    check_same_length(query, key, value)
    if query.shape[-1] != value.shape[-1]:
        raise ValueError(
            "value needs the width of query and key, whose features mix it, "
            f"got {value.shape[-1]} and {query.shape[-1]}"
        )
    if isinstance(temperature, bool) or not isinstance(temperature, int | float | Tensor):
        raise TypeError(
            f"temperature must be a number or a tensor, got {type(temperature).__name__}"
        )
    if isinstance(temperature, Tensor):
        check_float(temperature=temperature)
        if temperature.dim() and temperature.shape != (query.shape[1], 1, 1):
            raise ValueError(
                f"temperature must have the shape {(query.shape[1], 1, 1)}, one for each head, "
                f"got {tuple(temperature.shape)}"
            )
