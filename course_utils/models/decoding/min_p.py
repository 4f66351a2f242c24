"""Min-p: the tokens that are not much less likely than the likeliest.

Source: Nguyen et al. 2024, Turning Up the Heat: Min-p Sampling for Creative and Coherent LLM
    Outputs, section 3, https://arxiv.org/abs/2407.01082
Ours / theirs: min_p = p_base
Differs: a ratio that misses min_p by rounding has reached it, as in top_p.py.
Same contract as: the MinPLogitsWarper of Hugging Face, where no ratio is on the boundary
"""

import math

import torch
from jaxtyping import Float
from torch import Tensor

from course_utils.models.decoding.top_p import ROUNDING, check_logits, check_share


def min_p_filter(logits: Float[Tensor, "... V"], min_p: float) -> Float[Tensor, "... V"]:
    """Return the logits, with -inf for all tokens below min_p times the highest probability.

    A ratio of probabilities is a difference of logits, so that no softmax is needed.

    Args:
        logits: The scores of all tokens, finite or -inf.
        min_p: The smallest ratio that is kept; where a model is sure, few tokens reach it.

    Raises:
        ValueError: min_p is not in (0, 1].
    """
    check_logits(logits)
    check_share(min_p=min_p)
    least = logits.detach().amax(dim=-1, keepdim=True) + math.log(min_p) - ROUNDING
    return logits.masked_fill(logits < least, -torch.inf)
