"""An additive bias: numbers added to the scores before the softmax.

Source: Raffel et al. 2020, Exploring the Limits of Transfer Learning with T5, section 2.1 (a bias
    learned for each distance), https://arxiv.org/abs/1910.10683; Press et al. 2022, Train Short,
    Test Long, section 3 (ALiBi, one that is not learned), https://arxiv.org/abs/2108.12409
Ours / theirs: bias = B in softmax(QKᵀ/√d_k + B)
Differs: a function of the scores, so that no attention needs an argument for it.
Same contract as: torch's SDPA with a floating-point attn_mask, and alibi_slopes of flash-attn
"""

from jaxtyping import Float
from torch import Tensor

from course_utils.validation import broadcast_shape, check_same_dtype


def add_bias(
    scores: Float[Tensor, "*batch L S"], bias: Float[Tensor, "#*batch #L #S"]
) -> Float[Tensor, "*batch L S"]:
    """Return scores + bias, of the scores' shape.

    Use it as the score_mod of `composed_attention`: `partial(add_bias, bias=alibi_bias(H, L, S))`.

    Args:
        scores: How well each key answers each query, scaled.
        bias: What is added; it must broadcast to the scores.
    """
    check_same_dtype(scores=scores, bias=bias)
    if broadcast_shape(bias.shape, scores.shape) != scores.shape:
        raise ValueError(
            f"bias must broadcast to the scores' shape {tuple(scores.shape)}, "
            f"got {tuple(bias.shape)}"
        )
    return scores + bias
