"""LongRoPE: each pair is slowed by its own factor, found by search rather than by a formula.

Source: Ding et al. 2024, LongRoPE: Extending LLM Context Window Beyond 2 Million Tokens, section 3,
    https://arxiv.org/abs/2402.13753
Ours / theirs: slowed_by = λ;  factor = s;  trained_length = L
Differs: the paper also leaves the first tokens of a text unscaled, which no released model does; a
    model ships two lists, one for texts within the trained length and one for longer ones
Same contract as: transformers' rope type "longrope" (Phi-3)
"""

import math
from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from course_utils.positions.rope_table import rope_frequencies
from course_utils.validation import check_at_least, check_factor, check_instance, check_positive


def longrope_frequencies(
    d_k: int, slowed_by: Sequence[float], base: float = 10000.0
) -> Float[Tensor, " half_width"]:
    """Return RoPE's frequencies, each divided by the factor of its pair, in float64.

    Args:
        d_k: Width of a query or key.
        slowed_by: How many times slower each pair rotates: a model's short or its long list.
        base: The base of training.

    Raises:
        ValueError: There is not one factor for each pair.
    """
    own = rope_frequencies(d_k, base)
    check_instance(Sequence, slowed_by=slowed_by)
    for factor in slowed_by:
        check_positive(**{"each number of slowed_by": factor})
    if len(slowed_by) != len(own):
        raise ValueError(f"slowed_by must hold {len(own)} numbers, got {len(slowed_by)}")
    return own / torch.tensor(slowed_by, dtype=own.dtype)


def longrope_magnitude(factor: float, trained_length: int) -> float:
    """Return the factor on rotated queries and keys, √(1 + ln factor / ln trained_length).

    Args:
        factor: How many times longer than in training.
        trained_length: How many positions the model was trained on.
    """
    check_factor(factor)
    check_at_least(2, trained_length=trained_length)
    return math.sqrt(1 + math.log(factor) / math.log(trained_length))
