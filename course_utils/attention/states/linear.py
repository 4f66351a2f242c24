"""Linear attention: a kernel instead of the softmax, so that the products can be reordered.

Source: Katharopoulos et al. 2020, Transformers are RNNs: Fast Autoregressive Transformers with
    Linear Attention, Eq. 5 to 7 and 16 to 20, https://arxiv.org/abs/2006.16236
Ours / theirs: kernel feature map = φ(x) = elu(x) + 1;  state = S;  total = Z
Differs: computed in pieces, with the state carried on: beyond the output, memory does not grow with
    length. Low precision is summed in float32.
Same contract as: the weights φ(q)·φ(k), divided by their sum over the keys that a query sees
"""

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from course_utils.attention.core.chunks import pieces
from course_utils.attention.core.kernel import (
    causal_kernel_attention,
    kernel_attention,
    no_keys,
    widened,
)
from course_utils.validation import check_query_key_value, check_same_length


def linear_attention(
    query: Float[Tensor, "*batch L d_k"],
    key: Float[Tensor, "*batch S d_k"],
    value: Float[Tensor, "*batch S d_v"],
) -> Float[Tensor, "*batch L d_v"]:
    """Return φ(q) (φ(K)ᵀ V) / φ(q) (φ(K)ᵀ 1) for each query: all keys, and no L × S weights.

    Args:
        query: What each position asks for.
        key: What each position offers.
        value: What each position hands over.
    """
    check_query_key_value(query, key, value)
    return kernel_attention(query, key, value, _features, _features)


def causal_linear_attention(
    query: Float[Tensor, "*batch L d_k"],
    key: Float[Tensor, "*batch L d_k"],
    value: Float[Tensor, "*batch L d_v"],
) -> Float[Tensor, "*batch L d_v"]:
    """Return the same with each query over its past and itself, a piece of the sequence at a time.

    Inside a piece the weights are a small causal table; what came before is the state. A running
    sum of all states, the textbook's way, holds L × d_k × d_v numbers and is many times slower.

    Args, errors and result are those of `linear_attention`; L = S.
    """
    check_same_length(query, key, value)
    return causal_kernel_attention(query, key, value, _features, _features)


def recurrent_linear_attention(
    query: Float[Tensor, "*batch L d_k"],
    key: Float[Tensor, "*batch L d_k"],
    value: Float[Tensor, "*batch L d_v"],
) -> Float[Tensor, "*batch L d_v"]:
    """Return the same as `causal_linear_attention`, as the recurrent network that it is.

    One token at a time adds φ(k) vᵀ to the state and reads φ(q) from it. This is how to generate:
    a state of d_k × d_v numbers replaces a cache that grows.

    Args, errors and result are those of `causal_linear_attention`.
    """
    check_same_length(query, key, value)
    if key.shape[-2] == 0:
        return no_keys(query, key, value)
    d_k, d_v = key.shape[-1], value.shape[-1]
    state, total = (widened(value).new_zeros(d_k, width) for width in (d_v, 1))
    out = []
    for q, k, v in pieces(1, query, key, value):
        q, k = _features(widened(q)), _features(widened(k))
        state = state + k.mT @ widened(v)
        total = total + k.mT
        out.append((q @ state / (q @ total)).to(query.dtype))
    return torch.cat(out, dim=-2)


def _features(x: Tensor) -> Tensor:
    return F.elu(x) + 1.0
