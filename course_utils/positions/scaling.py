"""Reading further than RoPE was trained: positions compressed, or another base.

Source: Chen et al. 2023, Extending Context Window of Large Language Models via Positional
    Interpolation, Eq. 4, https://arxiv.org/abs/2306.15595;
    bloc97 2023, NTK-Aware Scaled RoPE, as given in Peng et al. 2023, YaRN, section 3.1,
    https://arxiv.org/abs/2309.00071
Ours / theirs: trained_length, target_length = L, L';  factor = s;  base = b
Differs: positions are not touched where the target is not longer. Both only change frequencies:
    interpolation divides all by target/trained, the other base slows the last pair by as much and
    leaves the first alone.
Same contract as: transformers' rope types "linear" and "dynamic"
"""

import torch
from jaxtyping import Float, Shaped
from torch import Tensor

from course_utils.validation import (
    check_at_least,
    check_even,
    check_factor,
    check_positive,
    check_real,
)


def interpolate_positions(
    positions: Shaped[Tensor, "*axes"], trained_length: int, target_length: int
) -> Float[Tensor, "*axes"]:
    """Return positions compressed into the trained range: times trained/target if that is below 1.

    Args:
        positions: Whole or real numbers.
        trained_length: How many positions the model was trained on.
        target_length: How many it is to read.
    """
    check_real(positions=positions)
    check_at_least(1, trained_length=trained_length, target_length=target_length)
    real = positions if positions.is_floating_point() else positions.to(torch.get_default_dtype())
    if target_length <= trained_length:
        return real.clone()
    return real * (trained_length / target_length)


def ntk_base(base: float, d_k: int, factor: float) -> float:
    """Return the base with which RoPE's last pair rotates `factor` times slower.

    Args:
        base: The base of training.
        d_k: Width of a query or key, at least 4.
        factor: How many times longer than in training.
    """
    check_positive(base=base)
    check_even(d_k=d_k)
    check_at_least(4, d_k=d_k)
    check_factor(factor)
    return float(base * factor ** (d_k / (d_k - 2)))
