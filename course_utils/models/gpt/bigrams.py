"""A language model that is a table: how often each token followed each other token.

Source: Shannon 1948, A Mathematical Theory of Communication, section 3 (the series of
    approximations to English), https://doi.org/10.1002/j.1538-7305.1948.tb01338.x
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from course_utils.models.tokens import check_known
from course_utils.validation import check_at_least, check_integers, check_positive


def bigram_scores(
    tokens: Int[Tensor, " n"], num_tokens: int, unseen: float = 0.01
) -> Float[Tensor, "num_tokens num_tokens"]:
    """Return the log-probability of each token (column) after each (row), counted from a text.

    Args:
        tokens: The text.
        num_tokens: Size of the vocabulary.
        unseen: The count that every pair starts from, so that none is impossible.
    """
    check_integers("n", tokens=tokens)
    check_at_least(1, num_tokens=num_tokens)
    check_positive(unseen=unseen)
    check_known(num_tokens, tokens=tokens)
    pairs = tokens[:-1].long() * num_tokens + tokens[1:].long()
    counts = torch.bincount(pairs, minlength=num_tokens**2).view(num_tokens, -1) + unseen
    return (counts / counts.sum(dim=-1, keepdim=True)).log()
