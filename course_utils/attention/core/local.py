"""Local attention: look at a few keys around one place.

Source: Luong et al. 2015, Effective Approaches to Attention-based Neural Machine Translation,
    section 3.2, Eq. 9 and 10, https://arxiv.org/abs/1508.04025
Ours / theirs: centre = p_t;  half_width = D;  sigma = σ = D/2;  scores before the softmax = score;
    lengths = S;  W_p, v_p = W_p, v_p
Differs: positions count from 0, a query beyond the last key by more than half_width gives zeros,
    matrices multiply from the right, and local-p has no cut-off at p_t ± D beyond its Gaussian
    (which is at most exp(-2) = 0.135 there).
Same contract as: a loop over queries and keys
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from course_utils.attention.core.softmax import stable_softmax
from course_utils.validation import (
    check_at_least,
    check_float,
    check_int,
    check_integers,
    check_matrix,
    check_number,
    check_same_dtype,
    check_shape,
)


def local_monotonic_weights(
    scores: Float[Tensor, "*batch L S"], half_width: int, offset: int = 0
) -> Float[Tensor, "*batch L S"]:
    """Return the softmax over the keys at most half_width from the query's own position (local-m).

    Args:
        scores: How well each key answers each query; -inf where a key is padding.
        half_width: How far the window reaches to each side.
        offset: The position of the first query, for a decoder that takes one step at a time.
    """
    _check_scores(scores)
    check_at_least(0, half_width=half_width)
    check_int(offset=offset)
    own = torch.arange(scores.shape[-2], device=scores.device).unsqueeze(-1) + offset
    place = torch.arange(scores.shape[-1], device=scores.device)
    outside = (place - own).abs() > half_width
    return stable_softmax(scores.masked_fill(outside, -torch.inf))


def predicted_centre(
    query: Float[Tensor, "batch L d_q"],
    W_p: Float[Tensor, "d_q d_p"],
    v_p: Float[Tensor, " d_p"],
    lengths: Int[Tensor, " batch"],
) -> Float[Tensor, "batch L"]:
    """Return where each query wants to look: length · sigmoid(tanh(q W_p)·v_p), a real number.

    Args:
        query: The decoder's states.
        W_p: Projects a query to the width of a small network.
        v_p: Reduces its hidden layer to one number.
        lengths: How many real keys each sequence has.
    """
    check_float("batch L d_q", query=query)
    check_float("d_p", v_p=v_p)
    check_matrix("W_p", W_p, rows=query.shape[-1], columns=v_p.shape[0], of="query")
    check_same_dtype(query=query, W_p=W_p, v_p=v_p)
    check_integers(lengths=lengths)
    check_shape(query.shape[:1], lengths=lengths)
    share = torch.sigmoid(torch.tanh(query @ W_p) @ v_p)
    return lengths.to(query.dtype).unsqueeze(-1) * share


def local_predictive_weights(
    scores: Float[Tensor, "*batch L S"], centre: Float[Tensor, "*batch L"], sigma: float
) -> Float[Tensor, "*batch L S"]:
    """Return the softmax over all keys, damped by a Gaussian around each query's centre (local-p).

    The rows are not divided by their sum again: what the Gaussian takes away is gone.

    Args:
        scores: How well each key answers each query; -inf where a key is padding.
        centre: Where each query looks, a real number that may be outside the keys.
        sigma: How wide it looks.
    """
    _check_scores(scores)
    check_float(centre=centre)
    check_shape(scores.shape[:-1], centre=centre)
    check_number(sigma=sigma)
    if not sigma > 0:
        raise ValueError(f"sigma must be above 0, got {sigma}")
    place = torch.arange(scores.shape[-1], dtype=scores.dtype, device=scores.device)
    distance = (place - centre.unsqueeze(-1)) / sigma
    return stable_softmax(scores) * torch.exp(-0.5 * distance.square())


def _check_scores(scores: Tensor) -> None:
    check_float(scores=scores)
    if scores.dim() < 2:
        raise ValueError(f"scores need at least two axes (L, S), got {tuple(scores.shape)}")
