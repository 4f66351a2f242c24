"""Summarise what a head does in one number: how far it looks, or how much goes to one key.

Source: attention_distance: Vig and Belinkov 2019, Analyzing the Structure of Attention in a
    Transformer Language Model, section 4.2, https://arxiv.org/abs/1906.04284; the other two: Olsson
    et al. 2022, In-context Learning and Induction Heads, https://arxiv.org/abs/2209.11895
Differs: TransformerLens and its courses average one more entry for the induction score, that of
    query period - 1, which is in the first copy
"""

import torch
from jaxtyping import Float
from torch import Tensor

from course_utils.validation import check_at_least, check_float


def attention_distance(weights: Float[Tensor, "*batch L S"]) -> Float[Tensor, "*batch"]:
    """Return how far a query looks, on average: the mean over the rows of Σ w·|i - j|.

    Args:
        weights: Query i and key j are at positions i and j. Rows of zeros do not count; if
            there are no others, the distance is 0.
    """
    check_float("... L S", weights=weights)
    query = torch.arange(weights.shape[-2], device=weights.device).unsqueeze(1)
    key = torch.arange(weights.shape[-1], device=weights.device)
    far = (weights * (query - key).abs()).sum(dim=-1)
    seeing = (weights != 0).any(dim=-1).sum(dim=-1)
    return far.sum(dim=-1) / seeing.clamp(min=1)


def previous_token_score(weights: Float[Tensor, "*batch L L"]) -> Float[Tensor, "*batch"]:
    """Return the mean weight on the token just before: weights[i, i - 1], over i = 1 … L - 1.

    Args:
        weights: Rows of weights. With a single token the score is 0.
    """
    _check_square(weights)
    return _mean(weights.diagonal(-1, -2, -1))


def induction_score(weights: Float[Tensor, "*batch L L"], period: int) -> Float[Tensor, "*batch"]:
    """Return the mean weight on the token after the same one, a period earlier.

    The mean runs over i = period … L - 1, of weights[i, i - period + 1]; where there is no such i,
    the score is 0.

    Args:
        weights: Rows of weights over a segment that repeats, from its first token on.
        period: Length of the segment.
    """
    _check_square(weights)
    check_at_least(1, period=period)
    # Query period - 1 has the first of these entries; it is at the end of the first copy.
    return _mean(weights.diagonal(1 - period, -2, -1)[..., 1:])


def _check_square(weights: Tensor) -> None:
    check_float("... L L", weights=weights)
    if weights.shape[-1] != weights.shape[-2]:
        raise ValueError(f"weights must be square, got shape {tuple(weights.shape)}")


def _mean(entries: Tensor) -> Tensor:
    return entries.sum(dim=-1) / max(1, entries.shape[-1])
