"""Measure how much of its weight a head puts on keys that play a role, over what chance gives.

Source: previous-token and induction heads: Olsson et al. 2022, In-context Learning and Induction
    Heads, https://arxiv.org/abs/2209.11895; the base rate is the share of equal weights
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from course_utils.validation import check_boolean, check_float


def role_share(
    weights: Float[Tensor, "*batch L L"], chosen: Bool[Tensor, "L L"]
) -> tuple[Float[Tensor, "*batch"], float]:
    """Return a head's mean weight on chosen keys, and what equal weights would put there.

    Both means run over the queries that see at least one chosen key; without any, both are 0.

    Args:
        weights: Query i sees keys 0 … i.
        chosen: True where key j plays the role for query i; keys behind a query do not count.
    """
    check_float("... L L", weights=weights)
    check_boolean("chosen", chosen=chosen)
    length = weights.shape[-1]
    if weights.shape[-2] != length or chosen.shape != (length, length):
        raise ValueError(
            "weights must be square in the last two axes, and chosen of their size, "
            f"got {tuple(weights.shape)} and {tuple(chosen.shape)}"
        )
    seen = chosen.tril()
    counted = seen.any(dim=-1)
    if not counted.any():
        return weights.new_zeros(weights.shape[:-2]), 0.0
    share = (weights * seen).sum(dim=-1)[..., counted].mean(dim=-1)
    equal = seen.sum(dim=-1) / torch.arange(1, length + 1, device=seen.device)
    return share, equal[counted].double().mean().item()
