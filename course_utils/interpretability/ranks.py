"""Measure whether two rankings agree.

Source: Spearman 1904, The Proof and Measurement of Association between Two Things,
    https://doi.org/10.2307/1412159
Differs: scipy gives NaN where all values are equal; here such a ranking agrees with no other: 0
Same contract as: scipy.stats.spearmanr
"""

import torch
from jaxtyping import Float
from torch import Tensor

from course_utils.validation import check_same_dtype, check_shape


def rank_correlation(
    a: Float[Tensor, "*batch n"], b: Float[Tensor, "*batch n"]
) -> Float[Tensor, "*batch"]:
    """Return Spearman's ρ: Pearson's correlation of the ranks along the last axis, from -1 to 1.

    Args:
        a: Values to rank; equal ones share the mean of their ranks.
        b: The other values.
    """
    check_same_dtype("... n", a=a, b=b)
    check_shape(tuple(a.shape), b=b)
    first, second = _centred_ranks(a), _centred_ranks(b)
    together = (first * second).sum(dim=-1)
    size = (first.square().sum(dim=-1) * second.square().sum(dim=-1)).sqrt()
    return torch.where(size > 0, together / size.clamp(min=1e-30), 0.0).to(a.dtype)


def _centred_ranks(values: Tensor) -> Tensor:
    """Return the ranks minus their mean: (values below - values above) / 2.

    Equal values get the mean of their ranks automatically.
    """
    one, other = values.detach().unsqueeze(-1), values.detach().unsqueeze(-2)
    return ((one > other).sum(dim=-1) - (one < other).sum(dim=-1)).double() / 2
