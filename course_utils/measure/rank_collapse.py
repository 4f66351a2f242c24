"""Distance of a sequence's tokens from being identical.

Source: Dong et al. 2021, Attention is not all you need: pure attention loses rank doubly
    exponentially with depth, section 2, https://arxiv.org/abs/2103.03404
Ours / theirs: distance = ‖res(X)‖ / ‖X‖, res(X) = X - 1xᵀ with the x that makes it smallest
Differs: the Frobenius norm, for which that x is the mean of the tokens; the paper bounds the
    composite norm √(‖·‖₁ ‖·‖_∞).
"""

import torch
from jaxtyping import Float
from torch import Tensor

from course_utils.validation import check_float


def rank_one_distance(x: Float[Tensor, "*batch L d"]) -> Float[Tensor, "*batch"]:
    """Return ‖x - 1mᵀ‖_F / ‖x‖_F, m the mean over the tokens: 0 where all tokens are equal.

    Args:
        x: One vector per token.
    """
    check_float("... L d", x=x)
    apart = x - x.mean(dim=-2, keepdim=True)
    left, size = (torch.linalg.vector_norm(matrix, dim=(-2, -1)) for matrix in (apart, x))
    return left / size.masked_fill(size == 0.0, 1.0)
