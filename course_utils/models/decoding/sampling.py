"""Choosing the next token: temperature, top-k and top-p.

Source: top-p is Holtzman et al. 2020, The Curious Case of Neural Text Degeneration, section 3.1,
    https://arxiv.org/abs/1904.09751; top-k is Fan et al. 2018, Hierarchical Neural Story
    Generation, section 5.4, https://arxiv.org/abs/1805.04833
Ours / theirs: top_k = k;  top_p = p;  the kept tokens = V^(p)
Differs: both may be given; the share of top_p is then counted among the top_k.
Same contract as: the TemperatureLogitsWarper, TopKLogitsWarper and TopPLogitsWarper of Hugging
    Face, one after the other
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from course_utils.models.decoding.top_p import check_logits, check_share, top_p_filter
from course_utils.validation import check_at_least, check_number


def token_probabilities(
    logits: Float[Tensor, "B num_tokens"],
    *,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
) -> Float[Tensor, "B num_tokens"]:
    """Return the probabilities from which the next token is drawn.

    Args:
        logits: The scores of all tokens.
        temperature: Divides the scores: below 1 the likely tokens gain, above 1 the others. 0
            leaves the likeliest token alone, the first of equal ones.
        top_k: How many of the likeliest tokens are kept; None is all. Ties with the last stay.
        top_p: The fewest likeliest tokens that have at least this share together stay; None is all.

    Raises:
        ValueError: top_p is not in (0, 1].
    """
    _check_choice(logits, temperature, top_k, top_p)
    if temperature == 0:
        likeliest = logits.argmax(dim=-1, keepdim=True)
        return torch.zeros_like(logits).scatter(-1, likeliest, 1.0)
    # The largest is subtracted first, and stays 0 whatever divides it: a temperature near 0 would
    # make inf - inf of all.
    below = logits - logits.amax(dim=-1, keepdim=True)
    logits = torch.where(below == 0, below, below / temperature)
    if top_k is not None and top_k < logits.shape[-1]:
        last = logits.topk(top_k).values[..., -1:]
        logits = logits.masked_fill(logits < last, -torch.inf)
    if top_p is not None:
        logits = top_p_filter(logits, top_p)
    return logits.softmax(dim=-1)


def draw_tokens(
    logits: Float[Tensor, "B num_tokens"],
    generator: torch.Generator | None = None,
    *,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
) -> Int[Tensor, " B"]:
    """Draw a token for each row.

    Args:
        logits: The scores of all tokens.
        generator: The only source of randomness; not used where the temperature is 0.
        temperature: As in `token_probabilities`, like the next two.
        top_k: How many of the likeliest tokens stay.
        top_p: The share that stays.
    """
    _check_choice(logits, temperature, top_k, top_p)
    if logits.dim() != 2:
        raise ValueError(f"logits must have the axes (B, num_tokens), got {tuple(logits.shape)}")
    if temperature == 0:
        return logits.argmax(dim=-1)
    chances = token_probabilities(logits, temperature=temperature, top_k=top_k, top_p=top_p)
    return torch.multinomial(chances, 1, generator=generator).squeeze(-1)


def _check_choice(
    logits: Tensor, temperature: float, top_k: int | None, top_p: float | None
) -> None:
    check_logits(logits)
    check_number(temperature=temperature)
    if not 0 <= temperature < float("inf"):
        raise ValueError(f"temperature must be at least 0 and finite, got {temperature}")
    if top_p is not None:
        check_share(top_p=top_p)
    if top_k is not None:
        check_at_least(1, top_k=top_k)
