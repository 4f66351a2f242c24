"""The frequencies of Llama 3.1: pairs with long wavelengths are slowed, short ones are kept.

Source: Grattafiori et al. 2024, The Llama 3 Herd of Models, section 3.4.2, https://arxiv.org/abs/2407.21783,
    says how long the context became; the rule is in the released code only:
    https://github.com/meta-llama/llama-models
Ours / theirs: trained_length = old_context_len;  low_freq_factor, high_freq_factor = 1, 4 in all
    released models;  factor = scale_factor
Differs: the scores are not rescaled, as YaRN's are
Same contract as: transformers' rope type "llama3"
"""

import math

from jaxtyping import Float
from torch import Tensor

from course_utils.validation import check_at_least, check_factor, check_float, check_number


def llama3_frequencies(
    frequencies: Float[Tensor, "*axes"],
    factor: float,
    low_freq_factor: float,
    high_freq_factor: float,
    trained_length: int,
) -> Float[Tensor, "*axes"]:
    """Return the frequencies: f, f/factor or a blend, by the rotations a pair made in training.

    A pair with more than `high_freq_factor` rotations keeps its frequency, one with fewer than
    `low_freq_factor` is slowed, and in between the share that is kept grows with their number.

    Args:
        frequencies: Radians per position, above 0, in any order.
        factor: How many times longer than in training.
        low_freq_factor: Rotations up to which a pair is slowed.
        high_freq_factor: Rotations from which a pair is kept.
        trained_length: How many positions the model was trained on.
    """
    check_float(frequencies=frequencies)
    check_factor(factor)
    check_number(low_freq_factor=low_freq_factor, high_freq_factor=high_freq_factor)
    if not high_freq_factor > low_freq_factor > 0:
        raise ValueError(
            "high_freq_factor must be above low_freq_factor, and that above 0, got "
            f"{high_freq_factor} and {low_freq_factor}"
        )
    check_at_least(1, trained_length=trained_length)
    turns = trained_length * frequencies / (2 * math.pi)
    kept = ((turns - low_freq_factor) / (high_freq_factor - low_freq_factor)).clamp(0, 1)
    return (1 - kept) * frequencies / factor + kept * frequencies
