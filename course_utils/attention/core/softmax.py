"""Softmax over the last axis, and its derivative.

Source: Vaswani et al. 2017, Attention Is All You Need, Eq. 1, https://arxiv.org/abs/1706.03762;
    the shift by the maximum is Blanchard, Higham and Higham 2021, https://doi.org/10.1093/imanum/draa038
Ours / theirs: scores = x, weights = softmax(x)
Differs: a row that is -inf everywhere gives zeros with zero gradient, not NaN.
Same contract as: torch.softmax(scores, dim=-1), except for such rows
"""

import torch
from jaxtyping import Float
from torch import Tensor

from course_utils.validation import check_float


def stable_softmax(scores: Float[Tensor, "*batch S"]) -> Float[Tensor, "*batch S"]:
    """Turn each row of scores into weights that are positive and sum to 1.

    Args:
        scores: Any real numbers, -inf for what may not be chosen.
    """
    check_float(scores=scores)
    if scores.dim() == 0:
        raise ValueError("scores need at least one axis, got a scalar")
    if scores.shape[-1] == 0:
        return scores.clone()
    # Any shift cancels in the quotient; the maximum keeps exp at or below 1, and 0 serves for -inf.
    peak = scores.detach().amax(dim=-1, keepdim=True)
    peak = peak.masked_fill(peak == -torch.inf, 0.0)
    powers = (scores - peak).exp_()
    total = powers.sum(dim=-1, keepdim=True)
    total = total.masked_fill(total == 0.0, 1.0)
    # Autograd needs the exponentials unchanged; without it, they are divided in place.
    return powers / total if torch.is_grad_enabled() else powers.div_(total)


def softmax_jacobian(weights: Float[Tensor, "*batch S"]) -> Float[Tensor, "*batch S S"]:
    """Return the derivative of weight i (row) with respect to score j (column).

    It needs the weights alone: diag(w) - w wᵀ.

    Args:
        weights: What a softmax over the last axis gave; a row of zeros has a derivative of zero.
    """
    check_float(weights=weights)
    if weights.dim() == 0:
        raise ValueError("weights need at least one axis, got a scalar")
    return torch.diag_embed(weights) - weights.unsqueeze(-1) * weights.unsqueeze(-2)
