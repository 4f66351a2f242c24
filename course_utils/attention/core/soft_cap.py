"""Soft cap: scores are squashed smoothly into the interval from -cap to cap.

Source: Gemma Team 2024, Gemma 2: Improving Open Language Models at a Practical Size, section 2
    (logit soft-capping), https://arxiv.org/abs/2408.00118
Ours / theirs: cap = soft_cap: 50 in Gemma 2's attention, 30 for its last logits
Differs: a score of -inf stays -inf, so that the cap may come after the mask as well as before it.
Same contract as: `softcap` inside eager_attention_forward of transformers' Gemma 2, before its mask
"""

import torch
from jaxtyping import Float
from torch import Tensor

from course_utils.validation import check_float, check_positive


def soft_cap(scores: Float[Tensor, "*axes"], cap: float) -> Float[Tensor, "*axes"]:
    """Return cap · tanh(scores / cap): near 0 the scores are unchanged, far out they approach ±cap.

    Args:
        scores: How well each key answers each query; -inf where it may not.
        cap: What no finite score exceeds afterwards.
    """
    check_float(scores=scores)
    check_positive(cap=cap)
    # tanh alone would bring a hidden key back, with the score -cap.
    return (cap * torch.tanh(scores / cap)).masked_fill(scores == -torch.inf, -torch.inf)
