"""Find the choices that no other dominates.

Source: Pareto: a choice stays unless another is at least as good in all and better in one
Ours / theirs: cost is to be small, quality large
Differs: equal points stay together.
Same contract as: none
"""

from jaxtyping import Bool, Float
from torch import Tensor

from course_utils.validation import check_float


def pareto_front(cost: Float[Tensor, " n"], quality: Float[Tensor, " m"]) -> Bool[Tensor, " n"]:
    """Return for each point whether no other point beats it.

    Args:
        cost: Lower is better; no NaN.
        quality: Higher is better; no NaN.

    Raises:
        ValueError: There is a NaN.
    """
    check_float("n", cost=cost, quality=quality)
    if len(cost) != len(quality):
        raise ValueError(
            f"cost and quality must have equal lengths, got {len(cost)} and {len(quality)}"
        )
    if bool(cost.isnan().any()) or bool(quality.isnan().any()):
        raise ValueError("cost and quality must be numbers, got NaN")
    no_worse = (cost[:, None] <= cost) & (quality[:, None] >= quality)
    better = (cost[:, None] < cost) | (quality[:, None] > quality)
    return ~(no_worse & better).any(dim=0)
