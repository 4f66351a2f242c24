"""Effective attention: the part of the weights that the values let through.

Source: Brunner et al. 2020, On Identifiability in Transformers, section 4,
    https://arxiv.org/abs/1908.04211
Ours / theirs: weights, value, effective = A, T, A⊥
Differs: takes any values; theirs are those of a head times its share of the output projection,
    whose left null space is the same where that has full rank
"""

import torch
from jaxtyping import Float
from torch import Tensor

from course_utils.validation import check_same_dtype


def effective_attention(
    weights: Float[Tensor, "*batch L S"], value: Float[Tensor, "*batch S d_v"]
) -> Float[Tensor, "*batch L S"]:
    """Return each row of weights without the part that cannot affect the output.

    It is the row projected onto the column space of the values, so that the output stays as it is.
    Its entries may be negative, and its rows need not sum to 1.

    Args:
        weights: What each query takes from each key.
        value: What each key passes on; of any rank.
    """
    check_same_dtype("... rows columns", weights=weights, value=value)
    if weights.shape[:-2] != value.shape[:-2] or weights.shape[-1] != value.shape[-2]:
        raise ValueError(
            "weights and value must have the same leading axes and the same number of keys, "
            f"got {tuple(weights.shape)} and {tuple(value.shape)}"
        )
    if not bool(value.isfinite().all()):
        raise ValueError("value must hold finite numbers, got NaN or inf")
    with torch.no_grad():
        wide = value.to(torch.promote_types(value.dtype, torch.float32))
        basis, sizes, _ = torch.linalg.svd(wide, full_matrices=False)
        # Directions left over by rounding alone do not count: numpy's own limit.
        least = sizes[..., :1] * max(value.shape[-2:]) * torch.finfo(wide.dtype).eps
        basis = basis * (sizes > least).unsqueeze(-2)
        effective: Tensor = weights.to(wide.dtype) @ basis @ basis.mT
        return effective.to(weights.dtype)
