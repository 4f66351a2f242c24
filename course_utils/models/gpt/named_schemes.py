"""The schemes of chapter 07 by name, each at the sizes of its own paper or code.

Source: the files of course_utils/positions, one per scheme
Differs: sizes that belong to a length (T5's max_distance, Shaw's and DeBERTa's clip) stay as
    published although the models here are small; a learned table gets rows for the longest test,
    of which training only reaches the first
"""

from collections.abc import Callable

from course_utils.positions import (
    AlibiPositions,
    DebertaPositions,
    LearnedPositions,
    PositionScheme,
    RotaryPositions,
    ShawPositions,
    SinusoidalPositions,
    T5Positions,
    llama3_frequencies,
    ntk_base,
    rope_frequencies,
    yarn_frequencies,
    yarn_magnitude,
)

D_MODEL, NUM_HEADS = 64, 4
D_K = D_MODEL // NUM_HEADS

TRAINED: dict[str, Callable[[int, int], PositionScheme]] = {
    "none": lambda trained, longest: PositionScheme(),
    "sinusoidal": lambda trained, longest: SinusoidalPositions(),
    "learned": lambda trained, longest: LearnedPositions(longest, D_MODEL, std=1.0),
    "Shaw": lambda trained, longest: ShawPositions(D_K, 16),
    "T5": lambda trained, longest: T5Positions(NUM_HEADS),
    "T5, short": lambda trained, longest: T5Positions(NUM_HEADS, max_distance=trained),
    "DeBERTa": lambda trained, longest: DebertaPositions(NUM_HEADS, D_K),
    "DeBERTa, 16": lambda trained, longest: DebertaPositions(NUM_HEADS, D_K, 16),
    "RoPE": lambda trained, longest: RotaryPositions(D_K),
    "RoPE + window": lambda trained, longest: RotaryPositions(D_K),
    "ALiBi": lambda trained, longest: AlibiPositions(NUM_HEADS),
}
"""Made from the trained length and the longest tested one."""

WINDOW = {"RoPE + window": 16}
"""The number of tokens that a query sees, where that is not all before it."""

RESCALED = ("RoPE + PI", "RoPE + NTK", "RoPE + YaRN", "RoPE + llama3")
"""Schemes that can replace RoPE in a trained model without any more training.

PI: positions interpolated; NTK: the NTK-aware base; llama3: as Llama 3.1, with its bounds 1 and 4.
"""


def rescaled_rope(name: str, trained: int, target: int) -> RotaryPositions:
    """Return RoPE stretched from one length to another; unchanged if the target is not longer.

    Args:
        name: One of `RESCALED`.
        trained: The length of training.
        target: The length to read.
    """
    factor = max(target / trained, 1.0)
    if name == "RoPE + PI":
        return RotaryPositions(D_K, frequencies=rope_frequencies(D_K) / factor)
    if name == "RoPE + NTK":
        return RotaryPositions(D_K, ntk_base(10000.0, D_K, factor))
    if name == "RoPE + YaRN":
        frequencies = yarn_frequencies(D_K, factor=factor, trained_length=trained)
        return RotaryPositions(D_K, frequencies=frequencies, magnitude=yarn_magnitude(factor))
    if name == "RoPE + llama3":
        frequencies = llama3_frequencies(rope_frequencies(D_K), factor, 1.0, 4.0, trained)
        return RotaryPositions(D_K, frequencies=frequencies)
    raise ValueError(f"name must be one of {RESCALED}, got {name!r}")
