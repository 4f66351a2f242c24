"""Measure what a prediction loses when one token is hidden, without any weights.

Source: Li, Monroe and Jurafsky 2016, Understanding Neural Networks through Representation Erasure,
    Eq. 1, https://arxiv.org/abs/1612.08220; beside attention: Jain and Wallace 2019, section 4.1,
    https://arxiv.org/abs/1902.10186
Differs: a difference of probabilities, where Li et al. divide the difference of
    log-probabilities by the larger one
Same contract as: captum.attr.FeatureAblation over the mask, with baseline False
"""

from collections.abc import Callable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from course_utils.validation import check_boolean, check_callable, check_float, check_integers

Predict = Callable[[Tensor, Tensor], Tensor]


@torch.no_grad()
def leave_one_out(
    predict: Predict, tokens: Int[Tensor, "B L"], mask: Bool[Tensor, "B L"]
) -> Float[Tensor, "B L"]:
    """Return how much probability the class predicted from all tokens loses without each token.

    Negative where the class gains without the token; 0 where there is no real token.

    Args:
        predict: `predict(tokens, mask)` returns the probabilities (B, C) of the classes; it reads
            each row by itself, and the tokens where its mask is True.
        tokens: The sequences.
        mask: True on real tokens, False on padding.
    """
    check_callable(predict=predict)
    check_integers("B L", tokens=tokens)
    check_boolean("real", mask=mask)
    if mask.shape != tokens.shape:
        raise ValueError(
            f"mask must have the tokens' shape {tuple(tokens.shape)}, got {tuple(mask.shape)}"
        )
    batch, length = tokens.shape
    whole = _probabilities(predict, tokens, mask)
    chosen = whole.argmax(dim=-1, keepdim=True)
    # Row b·L + i is sequence b without its token i.
    one_less = mask.unsqueeze(1) & ~torch.eye(length, dtype=torch.bool, device=mask.device)
    without = _probabilities(
        predict, tokens.repeat_interleave(length, 0), one_less.flatten(0, 1)
    ).view(batch, length, whole.shape[-1])
    left = without.gather(-1, chosen.unsqueeze(1).expand(-1, length, -1)).squeeze(-1)
    return (whole.gather(-1, chosen) - left).masked_fill(~mask, 0.0)


def _probabilities(predict: Predict, tokens: Tensor, mask: Tensor) -> Tensor:
    found = predict(tokens, mask)
    check_float("B C", probabilities=found)
    if len(found) != len(tokens) or not found.shape[1]:
        raise ValueError(
            f"predict must return a row of probabilities for each of {len(tokens)} sequences, "
            f"got shape {tuple(found.shape)}"
        )
    return found
