"""Similarity of a query and a key: the scores of Bahdanau and of Luong.

Source: Bahdanau et al. 2015, Neural Machine Translation by Jointly Learning to Align and
    Translate, appendix A.1.2, https://arxiv.org/abs/1409.0473 (additive);
    Luong et al. 2015, Effective Approaches to Attention-based Neural Machine Translation,
    section 3.1 and Eq. 8, https://arxiv.org/abs/1508.04025 (dot, general, concat, location)
Ours / theirs: query = s_{i-1} (Bahdanau), h_t (Luong);  key = h_j, h̄_s;
    W_q, W_k, v = W_a, U_a, v_a;  general's and location's W = W_a;  concat's W, v = W_a, v_a
Differs: matrices multiply from the right, x @ W, so ours are the transposes of theirs. All queries
    and keys of a batch are scored at once, and nothing is scaled. Luong's query is the decoder's
    current state, Bahdanau's the previous one: the caller decides.
Same contract as: a loop over queries and keys, one score at a time
"""

import torch
from jaxtyping import Float
from torch import Tensor

from course_utils.validation import (
    check_at_least,
    check_float,
    check_leading,
    check_matrix,
    check_query_key,
    check_same_dtype,
)


def dot_score(
    query: Float[Tensor, "*batch L d"], key: Float[Tensor, "*batch S d"]
) -> Float[Tensor, "*batch L S"]:
    """Return the dot product of each query with each key: no parameters, one matrix product.

    Args:
        query: The decoder's states.
        key: The encoder's states, of the same width.
    """
    check_query_key(query, key)
    return query @ key.mT


def general_score(
    query: Float[Tensor, "*batch L d_q"],
    key: Float[Tensor, "*batch S d_k"],
    W: Float[Tensor, "d_q d_k"],
) -> Float[Tensor, "*batch L S"]:
    """Return q W kᵀ for each query and key: a dot product after a learned linear map.

    Args:
        query: The decoder's states.
        key: The encoder's states; their width may differ.
        W: Maps a query into what is looked for among the keys.
    """
    check_float("... length width", query=query, key=key)
    check_leading(query=query, key=key)
    check_matrix("W", W, rows=query.shape[-1], columns=key.shape[-1], of="query")
    check_same_dtype(query=query, key=key, W=W)
    # The shorter side is projected: there are nearly always fewer queries than keys.
    return (query @ W) @ key.mT


def additive_score(
    query: Float[Tensor, "*batch L d_q"],
    key: Float[Tensor, "*batch S d_k"],
    W_q: Float[Tensor, "d_q d_a"],
    W_k: Float[Tensor, "d_k d_a"],
    v: Float[Tensor, " d_a"],
) -> Float[Tensor, "*batch L S"]:
    """Return tanh(q W_q + k W_k)·v for each query and key: a small network that scores a pair.

    Each query and each key is projected once; only the sum, the tanh and v meet every pair.

    Args:
        query: The decoder's states.
        key: The encoder's states; their width may be another.
        W_q: Projects a query to the width of the network.
        W_k: Projects a key to the same width.
        v: Reduces the hidden layer to one number.
    """
    check_float("... length width", query=query, key=key)
    check_leading(query=query, key=key)
    check_float("d_a", v=v)
    check_matrix("W_q", W_q, rows=query.shape[-1], columns=v.shape[0], of="query")
    check_matrix("W_k", W_k, rows=key.shape[-1], columns=v.shape[0], of="key")
    check_same_dtype(query=query, key=key, W_q=W_q, W_k=W_k, v=v)
    per_query = (query @ W_q).unsqueeze(-2)
    per_key = (key @ W_k).unsqueeze(-3)
    return torch.tanh(per_query + per_key) @ v


def concat_score(
    query: Float[Tensor, "*batch L d_q"],
    key: Float[Tensor, "*batch S d_k"],
    W: Float[Tensor, "d_q_plus_d_k d_a"],
    v: Float[Tensor, " d_a"],
) -> Float[Tensor, "*batch L S"]:
    """Return tanh([q; k] W)·v for each query and key.

    It is additive scoring under another name: the upper rows of W meet the query, the lower the
    key, so no pair has to be concatenated. Arguments and errors are as in `additive_score`.
    """
    check_float("... length width", query=query, key=key)
    check_float("d_a", v=v)
    width = query.shape[-1] + key.shape[-1]
    check_matrix("W", W, rows=width, columns=v.shape[0], of="query and key together")
    check_same_dtype(query=query, key=key, W=W, v=v)
    W_q, W_k = W.split([query.shape[-1], key.shape[-1]])
    return additive_score(query, key, W_q, W_k, v)


def location_score(
    query: Float[Tensor, "*batch L d_q"], W: Float[Tensor, "d_q positions"], num_keys: int
) -> Float[Tensor, "*batch L S"]:
    """Return a score for each position from the query alone: no key is looked at.

    Args:
        query: The decoder's states.
        W: One column for each position that may be attended to.
        num_keys: How many keys there are; those beyond W's last column get -inf, as in Luong.
    """
    check_float("... length width", query=query)
    check_matrix("W", W, rows=query.shape[-1], of="query")
    check_same_dtype(query=query, W=W)
    check_at_least(0, num_keys=num_keys)
    scores = query @ W[:, :num_keys]
    missing = num_keys - scores.shape[-1]
    return torch.nn.functional.pad(scores, (0, missing), value=-torch.inf)
