"""Attention dropout: in training some weights are zeroed at random, and the others scaled up.

Source: Srivastava et al. 2014, Dropout: A Simple Way to Prevent Neural Networks from Overfitting,
    https://jmlr.org/papers/v15/srivastava14a.html; on attention weights in tensor2tensor's code of
    Vaswani et al. 2017, and in torch's SDPA as dropout_p
Ours / theirs: p = dropout_p = the probability that a weight is zeroed
Differs: the generator is an argument, so no global state is involved.
Same contract as: torch.nn.functional.dropout of the weights in training
"""

import torch
from jaxtyping import Float
from torch import Tensor

from course_utils.validation import check_float, check_instance, check_number


def attention_dropout(
    weights: Float[Tensor, "*batch L S"], p: float, generator: torch.Generator
) -> Float[Tensor, "*batch L S"]:
    """Return the weights, each 0 with probability p, else divided by 1 - p: the mean stays.

    A row no longer sums to 1; only its expectation does.

    Args:
        weights: The output of the softmax.
        p: The probability that a weight is zeroed.
        generator: Draws which.

    Raises:
        ValueError: p is not in [0, 1).
    """
    check_float(weights=weights)
    check_number(p=p)
    check_instance(torch.Generator, generator=generator)
    if not 0 <= p < 1:
        raise ValueError(f"p must be at least 0 and below 1, got {p}")
    # A new contiguous table: what is drawn does not depend on the weights' strides.
    kept = torch.empty(weights.shape, dtype=weights.dtype, device=weights.device)
    return weights * kept.bernoulli_(1 - p, generator=generator).div_(1 - p)
