"""YaRN: slow pairs of RoPE are interpolated, fast ones left alone, and the scores are sharpened.

Source: Peng et al. 2023, YaRN: Efficient Context Window Extension of Large Language Models,
    sections 3.2-3.4, https://arxiv.org/abs/2309.00071
Ours / theirs: factor = s;  trained_length = L;  fast, slow = β, α;  magnitude = √(1/t)
Differs: between fast and slow pairs the blend is linear in the pair's index, as in the authors'
    code and in transformers; the paper's Eq. 18 makes it linear in the number of rotations.
Same contract as: transformers' rope type "yarn"
"""

import math

import torch
from jaxtyping import Float
from torch import Tensor

from course_utils.positions.rope_table import rope_frequencies
from course_utils.validation import check_at_least, check_factor, check_instance, check_positive


def yarn_frequencies(
    d_k: int,
    *,
    factor: float,
    trained_length: int,
    base: float = 10000.0,
    fast: float = 32.0,
    slow: float = 1.0,
    truncate: bool = True,
) -> Float[Tensor, " half_width"]:
    """Return the frequencies: pairs with few rotations in the trained range are slowed by `factor`.

    Args:
        d_k: Width of a query or key.
        factor: How many times longer than in training.
        trained_length: How many positions the model was trained on.
        base: The base of training.
        fast: Pairs that make at least this many turns in the trained range stay as they are.
        slow: Pairs that make at most this many are interpolated, as by linear scaling.
        truncate: Whether the ramp begins and ends at a whole pair; gpt-oss does not.
    """
    own = rope_frequencies(d_k, base)
    check_at_least(1, trained_length=trained_length)
    if not base > 1:
        raise ValueError(f"base must be above 1, got {base}")
    check_positive(fast=fast, slow=slow)
    if not fast > slow:
        raise ValueError(f"fast must be above slow, got {fast} and {slow}")
    check_factor(factor)
    check_instance(bool, truncate=truncate)

    def pair_with(turns: float) -> float:
        ratio = trained_length / (turns * 2 * math.pi)
        return d_k * math.log(ratio) / (2 * math.log(base))

    first, last = pair_with(fast), pair_with(slow)
    if truncate:
        first, last = math.floor(first), math.ceil(last)
    low, high = max(first, 0), min(last, d_k - 1)
    width = max(high - low, 0.001)
    slowed = ((torch.arange(d_k // 2, dtype=torch.float64) - low) / width).clamp(0, 1)
    return own * (1 - slowed) + own / factor * slowed


def yarn_magnitude(factor: float) -> float:
    """Return the factor on rotated queries and keys, 0.1 · ln(factor) + 1; scores get its square.

    Args:
        factor: How many times longer than in training.
    """
    check_factor(factor)
    return 0.1 * math.log(factor) + 1.0
