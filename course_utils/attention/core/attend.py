"""From scores to a context vector: softmax over the real keys, then a weighted average.

Source: Bahdanau et al. 2015, Neural Machine Translation by Jointly Learning to Align and
    Translate, Eq. 5 and 6, https://arxiv.org/abs/1409.0473
Ours / theirs: scores = e_ij;  weights = α_ij;  value = h_j;  context = c_i
Differs: padding keys take no part; where no key is real, the result is zeros.
Same contract as: torch.softmax over the real keys alone, then a matrix product
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from course_utils.attention.core.softmax import stable_softmax
from course_utils.validation import check_boolean, check_leading, check_same_dtype, check_shape


def attend(
    scores: Float[Tensor, "*batch L S"],
    value: Float[Tensor, "*batch S d_v"],
    key_mask: Bool[Tensor, "*batch S"],
) -> tuple[Float[Tensor, "*batch L d_v"], Float[Tensor, "*batch L S"]]:
    """Return each query's average of the values, and the weights used for it.

    Args:
        scores: How well each key answers each query.
        value: What each key hands over.
        key_mask: True where a key is a real token, False where it is padding.
    """
    check_same_dtype("... length width", scores=scores, value=value)
    if value.shape[-2] != scores.shape[-1]:
        raise ValueError(
            "scores and value need the same number of keys, "
            f"got {scores.shape[-1]} and {value.shape[-2]}"
        )
    check_leading(scores=scores, value=value)
    check_boolean("real", key_mask=key_mask)
    check_shape(scores.shape[:-2] + scores.shape[-1:], key_mask=key_mask)
    hidden = ~key_mask.unsqueeze(-2)
    weights = stable_softmax(scores.masked_fill(hidden, -torch.inf))
    return weights @ value, weights


def context_vector(
    weights: Float[Tensor, "*batch S"], states: Float[Tensor, "*batch S d_h"]
) -> Float[Tensor, "*batch d_h"]:
    """Return the weighted sum of the states; the weights are used as given.

    Args:
        weights: How much of each state to take.
        states: The encoder's states.
    """
    check_same_dtype(weights=weights, states=states)
    if states.dim() < 2 or weights.shape != states.shape[:-1]:
        raise ValueError(
            f"weights need one number for each state, got {tuple(weights.shape)} "
            f"for states {tuple(states.shape)}"
        )
    return (weights.unsqueeze(-2) @ states).squeeze(-2)
