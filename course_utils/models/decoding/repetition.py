"""The repetition penalty: tokens that already occurred become less likely.

Source: Keskar et al. 2019, CTRL: A Conditional Transformer Language Model for Controllable
    Generation, section 4.1, https://arxiv.org/abs/1909.05858
Ours / theirs: penalty = θ
Differs: a negative score is multiplied. Their equation divides every score, and so would make a
    token with a negative one likelier.
Same contract as: the RepetitionPenaltyLogitsProcessor of Hugging Face
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from course_utils.models.tokens import check_known
from course_utils.validation import check_float, check_integers, check_positive, check_shape


def penalise_repetition(
    logits: Float[Tensor, "B V"], tokens: Int[Tensor, "B n"], penalty: float
) -> Float[Tensor, "B V"]:
    """Return the logits, lowered for tokens that occurred, once however often they did.

    Args:
        logits: The scores of all tokens.
        tokens: What was read and written so far; none is allowed.
        penalty: Positive scores are divided by it and others multiplied; 1 changes nothing.
    """
    check_float("B V", logits=logits)
    check_integers("B n", tokens=tokens)
    check_shape((len(logits), tokens.shape[1]), tokens=tokens)
    check_positive(penalty=penalty)
    check_known(logits.shape[1], tokens=tokens)
    occurred = torch.zeros_like(logits, dtype=torch.bool).scatter(1, tokens.long(), True)
    smaller = torch.where(logits > 0, logits / penalty, logits * penalty)
    return torch.where(occurred, smaller, logits)
