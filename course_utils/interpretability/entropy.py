"""Measure how widely each query spreads its attention.

Source: Shannon 1948, A Mathematical Theory of Communication, section 6; as a measure of heads:
    Clark et al. 2019, What Does BERT Look At?, section 3.3, https://arxiv.org/abs/1906.04341
Differs: weights that do not sum to 1 are taken as they are, so a row of zeros has the entropy 0
Same contract as: scipy.stats.entropy on rows that sum to 1
"""

import torch
from jaxtyping import Float
from torch import Tensor

from course_utils.validation import check_float


def attention_entropy(weights: Float[Tensor, "*batch L S"]) -> Float[Tensor, "*batch L"]:
    """Return -Σ w·ln w over the keys, in nats: from 0 for one key to ln S for an even spread.

    A weight of 0 adds nothing, and its gradient is finite.

    Args:
        weights: Rows of weights, as they come out of a softmax, a mask or dropout.
    """
    check_float("... L S", weights=weights)
    # The derivative of w·ln w is infinite at 0, so the graph must not contain a logarithm of 0.
    seen = torch.where(weights > 0, weights, 1.0)
    return -(weights * seen.log()).sum(dim=-1)
