"""Which of several choices nothing beats.

Source: Pareto: a choice stays unless another is at least as good in all and better in one
Ours / theirs: cost is to be small, quality large
Differs: equal points stay together.
Same contract as: none
"""

from jaxtyping import Bool, Float
from torch import Tensor


def pareto_front(cost: Float[Tensor, "n"], quality: Float[Tensor, "n"]) -> Bool[Tensor, "n"]:
    """Return for each point whether no other point beats it.

    Args:
        cost: Less is better; no NaN.
        quality: More is better; no NaN.

    Raises:
        ValueError: There is a NaN.
    """
    if bool(cost.isnan().any()) or bool(quality.isnan().any()):
        raise ValueError("cost and quality must be numbers, got NaN")
    no_worse = (cost[:, None] <= cost) & (quality[:, None] >= quality)
    better = (cost[:, None] < cost) | (quality[:, None] > quality)
    return ~(no_worse & better).any(dim=0)
