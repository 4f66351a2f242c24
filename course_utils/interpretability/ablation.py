"""Take heads out of a model by setting each to its mean output.

Source: Wang et al. 2022, Interpretability in the Wild: a Circuit for Indirect Object Identification
    in GPT-2 small, section 2.1, https://arxiv.org/abs/2211.00593
"""

from collections.abc import Sequence

from jaxtyping import Float
from torch import Tensor

from course_utils.validation import check_ints, check_same_dtype


def mean_ablate(
    outputs: Float[Tensor, "B H L d"], heads: Sequence[int], reference: Float[Tensor, "N H M d"]
) -> Float[Tensor, "B H L d"]:
    """Return the heads' outputs, with each listed head at its mean over the reference's positions.

    Args:
        outputs: Weights times values of each head; a new tensor is returned.
        heads: Which heads; none and repeated ones are allowed.
        reference: Outputs of the same heads on other texts, at least one token of one text.
    """
    check_same_dtype("batch H length d", outputs=outputs, reference=reference)
    check_ints(heads=heads)
    num_heads, d = outputs.shape[1], outputs.shape[3]
    if (reference.shape[1], reference.shape[3]) != (num_heads, d):
        raise ValueError(
            f"reference must have {num_heads} heads of width {d}, "
            f"got shape {tuple(reference.shape)}"
        )
    if not reference.shape[0] * reference.shape[2]:
        raise ValueError(f"reference must hold a token, got shape {tuple(reference.shape)}")
    if wrong := [head for head in heads if not 0 <= head < num_heads]:
        raise ValueError(f"heads must be in 0 … {num_heads - 1}, got {wrong[0]}")
    ablated = outputs.clone()
    listed = sorted(set(heads))
    ablated[:, listed] = reference.mean(dim=(0, 2))[listed].unsqueeze(1)
    return ablated
