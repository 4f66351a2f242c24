"""The values that an induction circuit computes when its attention is sharp: what followed before.

Source: Olsson et al. 2022, In-context Learning and Induction Heads, section "What are induction
    heads?", https://arxiv.org/abs/2209.11895
Ours / theirs: [A][B] … [A] → [B];  the prediction is the mean of all [B] so far
Same contract as: a count of followers, divided by its sum
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from course_utils.validation import check_at_least, check_integers


def induction_prediction(
    tokens: Int[Tensor, "B L"], num_symbols: int
) -> Float[Tensor, "B L num_symbols"]:
    """Return, for each position, how often each symbol followed the earlier copies of its token.

    Row i is the mean of the one-hot vectors of tokens[j + 1] over all j < i with
    tokens[j] = tokens[i]; zeros where there is none.

    Args:
        tokens: Whole numbers from 0 to num_symbols - 1.
        num_symbols: How many symbols there are.

    Raises:
        ValueError: A token is not below num_symbols.
    """
    check_integers("B L", tokens=tokens)
    check_at_least(1, num_symbols=num_symbols)
    if tokens.numel() and not 0 <= int(tokens.min()) <= int(tokens.max()) < num_symbols:
        raise ValueError(
            f"tokens must be from 0 to {num_symbols - 1}, "
            f"got {int(tokens.min())} to {int(tokens.max())}"
        )
    alike = tokens.unsqueeze(-1) == tokens.unsqueeze(-2)
    matches = alike.tril(-1).to(torch.get_default_dtype())
    weights = matches / matches.sum(-1, keepdim=True).clamp(min=1.0)
    followers = F.one_hot(tokens.roll(-1, dims=-1).long(), num_symbols)
    return weights @ followers.to(weights.dtype)
