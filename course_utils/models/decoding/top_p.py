"""Top-p: the smallest set of likeliest tokens that holds a share of the probability.

Source: Holtzman et al. 2020, The Curious Case of Neural Text Degeneration, section 3.1,
    https://arxiv.org/abs/1904.09751
Ours / theirs: top_p = p;  the kept tokens = V^(p)
Differs: a share that misses top_p by rounding has reached it. Sums of probabilities are rounded, so
    that without this it would depend on the dtype how many tokens 0.5 + 0.3 keeps at 0.8.
Same contract as: the TopPLogitsWarper of Hugging Face, where no share is on the boundary
"""

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from course_utils.validation import check_float, check_number

ROUNDING = 1e-6


def top_p_filter(logits: Float[Tensor, "... V"], top_p: float) -> Float[Tensor, "... V"]:
    """Return the logits, with -inf for all but the likeliest tokens that hold the share top_p.

    Args:
        logits: The scores of all tokens, finite or -inf. Of equal ones the first is likelier.
        top_p: The share; 1 keeps every token.

    Raises:
        ValueError: top_p is not in (0, 1].
    """
    check_logits(logits)
    check_share(top_p=top_p)
    if top_p == 1:
        return logits.clone()
    chances, order = logits.detach().softmax(-1).sort(dim=-1, descending=True, stable=True)
    # In float64, so that the sum itself adds next to no rounding to that of its terms.
    likelier = F.pad(chances.double().cumsum(-1)[..., :-1], (1, 0))
    enough = (likelier >= top_p - ROUNDING) & (likelier > 0)  # the likeliest is always kept
    return logits.masked_fill(enough.scatter(-1, order, enough), -torch.inf)


def check_logits(logits: Tensor) -> None:
    """Raise unless these are scores of at least one token, along at least one axis."""
    check_float(logits=logits)
    if logits.dim() == 0:
        raise ValueError("logits need at least one axis, got a scalar")
    if logits.shape[-1] == 0:
        raise ValueError(f"logits need at least one token, got shape {tuple(logits.shape)}")


def check_share(**given: float) -> None:
    """Raise unless every value is a number above 0 and at most 1."""
    check_number(**given)
    for name, share in given.items():
        if not 0 < share <= 1:
            raise ValueError(f"{name} must be above 0 and at most 1, got {share}")
