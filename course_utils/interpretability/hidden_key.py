"""Hide a key from a head that has already attended.

Source: the attention sink and what its removal does: Xiao et al. 2023, Efficient Streaming Language
    Models with Attention Sinks, https://arxiv.org/abs/2309.17453
"""

import torch
from jaxtyping import Float
from torch import Tensor

from course_utils.validation import check_float, check_int


def without_key(weights: Float[Tensor, "*batch L S"], key: int) -> Float[Tensor, "*batch L S"]:
    """Return the weights that the same scores give where no query may see one key.

    The others are divided by what is left of the row; a row of which nothing is left is zeros.

    Args:
        weights: Rows of a softmax, or rows of zeros.
        key: The key's place, 0 … S - 1.
    """
    check_float("... L S", weights=weights)
    check_int(key=key)
    if not 0 <= key < weights.shape[-1]:
        raise ValueError(f"key must be in 0 … {weights.shape[-1] - 1}, got {key}")
    others = torch.arange(weights.shape[-1], device=weights.device) != key
    kept = weights * others
    left = kept.sum(dim=-1, keepdim=True)
    return kept / torch.where(left > 0, left, 1.0)
