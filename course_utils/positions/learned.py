"""Learned positions: one free vector per position, up to a maximum length.

Source: Gehring et al. 2017, Convolutional Sequence to Sequence Learning, section 3.1,
    https://arxiv.org/abs/1705.03122; used in BERT and GPT-2
Ours / theirs: table.weight = p_1, ..., p_m
Differs: positions count from 0.
Same contract as: torch.nn.Embedding looked up at the positions and added
"""

import math

from jaxtyping import Float, Shaped
from torch import Tensor, nn

from course_utils.positions.scheme import PositionScheme
from course_utils.validation import (
    check_at_least,
    check_fed,
    check_integers,
    check_number,
    check_positions,
)


class LearnedPositions(PositionScheme):
    """Adds a learned vector for each position to the stream.

    Args:
        max_length: How many positions there are; none beyond them has a vector.
        d_model: Width of the stream.
        std: How widely the vectors are drawn; GPT-2 and BERT take 0.02.
    """

    def __init__(self, max_length: int, d_model: int, *, std: float = 0.02) -> None:
        super().__init__()
        check_at_least(1, max_length=max_length, d_model=d_model)
        check_number(std=std)
        if not (std >= 0 and math.isfinite(std)):
            raise ValueError(f"std must be at least 0 and finite, got {std}")
        self.table = nn.Embedding(max_length, d_model)
        nn.init.normal_(self.table.weight, std=std)

    def embed(self, x: Float[Tensor, "B L d_model"], positions: Shaped[Tensor, "*B L"]) -> Tensor:
        """Return the stream plus the position vectors.

        Raises:
            ValueError: A position has no vector.
        """
        check_fed(self.table.weight, x=x)
        check_integers(positions=positions)
        check_positions(x, positions=positions)
        rows = self.table.num_embeddings
        if positions.numel() and not 0 <= int(positions.min()) <= int(positions.max()) < rows:
            low, high = int(positions.min()), int(positions.max())
            raise ValueError(
                f"positions must lie between 0 and {rows - 1}, got {low} to {high}: "
                "a learned table has nothing to say beyond its end"
            )
        return x + self.table(positions)
