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
from jaxtyping import Float, Shaped
from torch import Tensor

from course_utils.positions.rope_table import rope_frequencies
from course_utils.positions.scheme import PositionScheme
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


class LongRotaryPositions(PositionScheme):
    """Two rotations: one for texts within the trained length, one for whatever is longer.

    The longest position of a call decides for all of its tokens. Keys that a cache took while the
    text was short would not fit the queries of the longer text, so a cache cannot cross the border.

    Args:
        short: Rotates the tokens of texts of at most `trained_length` tokens.
        long: Rotates those of longer texts.
        trained_length: How many positions the model was trained on.
    """

    def __init__(self, short: PositionScheme, long: PositionScheme, trained_length: int) -> None:
        super().__init__()
        check_at_least(1, trained_length=trained_length)
        self.short, self.long, self.trained_length = short, long, trained_length

    def rotate(
        self,
        query: Float[Tensor, "B H L d_k"],
        key: Float[Tensor, "B H S d_k"],
        query_positions: Shaped[Tensor, "*B L"],
        key_positions: Shaped[Tensor, "*B S"],
    ) -> tuple[Tensor, Tensor]:
        """Return queries and keys, each rotated by its position.

        Raises:
            ValueError: These tokens take a text past the trained length whose first ones, read
                before, were rotated as those of a short text.
        """
        last, begun = int(key_positions.max()), int(key_positions[..., 0].max())
        scheme = self.long if last >= self.trained_length else self.short
        if scheme is self.long and 0 < begun <= self.trained_length:
            raise ValueError(
                f"a text of more than {self.trained_length} tokens must be read from its first "
                f"token on, got its tokens {begun} to {last} after a shorter text"
            )
        return scheme.rotate(query, key, query_positions, key_positions)
