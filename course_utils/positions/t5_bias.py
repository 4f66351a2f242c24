"""T5's bias: one learned number for each head and each bucket of distances.

Source: Raffel et al. 2020, Exploring the Limits of Transfer Learning with a Unified Text-to-Text
    Transformer, section 2.1, https://arxiv.org/abs/1910.10683; the buckets are in its code only
Ours / theirs: num_buckets, max_distance = 32, 128;  relative_position = memory - context position
Differs: distances where a bucket begins are found in float64; where theirs rounds in float32, both
    agree for every distance up to 512 at the sizes in use.
Same contract as: Hugging Face's T5Attention._relative_position_bucket and compute_bias
"""

import math

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor, nn

from course_utils.positions.scheme import PositionScheme, relative_positions
from course_utils.validation import check_at_least, check_instance, check_integers, check_same_dtype


def t5_bucket(
    relative_position: Int[Tensor, "*axes"],
    num_buckets: int,
    max_distance: int,
    bidirectional: bool,
) -> Int[Tensor, "*axes"]:
    """Return the bucket of each distance: exact for near keys, wider and wider for far ones.

    Args:
        relative_position: Position of the key minus position of the query.
        num_buckets: How many buckets there are.
        max_distance: From here on everything falls into the last one.
        bidirectional: Whether the upper half of the buckets is for keys after the query; if not,
            all of those share bucket 0.

    Raises:
        ValueError: There are too few buckets, or max_distance ends before the exact ones do.
    """
    check_integers(relative_position=relative_position)
    check_instance(bool, bidirectional=bidirectional)
    check_at_least(4 if bidirectional else 2, num_buckets=num_buckets)
    check_at_least(1, max_distance=max_distance)
    steps = relative_position.long()
    if bidirectional:
        num_buckets //= 2
        first = (steps > 0).long() * num_buckets
        distance = steps.abs()
    else:
        first = torch.zeros_like(steps)
        distance = (-steps).clamp(min=0)
    num_exact = num_buckets // 2
    if max_distance <= num_exact:
        raise ValueError(
            f"max_distance must be above the {num_exact} exact distances, got {max_distance}"
        )
    far = distance.clamp(min=num_exact).double() / num_exact
    share = far.log() / math.log(max_distance / num_exact)
    # A distance at which a bucket begins must not be rounded below it.
    wide = num_exact + (share * (num_buckets - num_exact) + 1e-9).long()
    return first + torch.where(distance < num_exact, distance, wide.clamp(max=num_buckets - 1))


class T5Positions(PositionScheme):
    """Adds a learned number to each score, by head and bucket of the distance.

    Args:
        num_heads: Number of heads.
        num_buckets: How many buckets there are.
        max_distance: From here on everything falls into the last one.
        bidirectional: Whether keys after the query have buckets of their own.
    """

    def __init__(
        self,
        num_heads: int,
        *,
        num_buckets: int = 32,
        max_distance: int = 128,
        bidirectional: bool = False,
    ) -> None:
        super().__init__()
        check_at_least(1, num_heads=num_heads)
        t5_bucket(torch.zeros(1).long(), num_buckets, max_distance, bidirectional)
        self.sizes = (num_buckets, max_distance, bidirectional)
        self.table = nn.Embedding(num_buckets, num_heads)

    def bias(
        self,
        query: Float[Tensor, "B H L d_k"],
        key: Float[Tensor, "B H _ d_k"],
        query_positions: Shaped[Tensor, "*B L"],
        key_positions: Shaped[Tensor, "*B S"],
    ) -> Tensor:
        """Return the bias of each pair's bucket, for each head."""
        check_same_dtype(query=query, table=self.table.weight)
        steps = relative_positions(query_positions, key_positions)
        numbers = self.table(t5_bucket(steps, *self.sizes)).movedim(-1, -3)
        # (H, L, S), or (B, 1, H, L, S) where sequences differ.
        return numbers.squeeze(1) if numbers.dim() == 5 else numbers
