"""The cache of a layer with a state: as large after a thousand tokens as after one.

Source: Yang, Kautz, Hatamizadeh 2025, Gated Delta Networks, https://arxiv.org/abs/2412.06464
Ours / theirs: held = recurrent_state and conv_state
Same contract as: the cache of a linear attention layer of transformers
"""

import torch
from torch import Tensor

from course_utils.attention.caches.movable_rows import MovableRows
from course_utils.validation import check_int


class StateCache(MovableRows):
    """The tensors that a layer leaves for its next tokens; the batch is the first axis of each.

    Args:
        *held: Those of an empty past.
    """

    window = 0  # it can forget the least of all caches, so a model's cache asks it first

    def __init__(self, *held: Tensor) -> None:
        self.held, self.length = held, 0

    @property
    def batch(self) -> int:
        """The number of sequences."""
        return len(self.held[0])

    @property
    def num_bytes(self) -> int:
        """The bytes of the tensors, which do not grow."""
        return sum(one.nbytes for one in self.held)

    def replace(self, held: tuple[Tensor, ...], new: int) -> None:
        """Keep what the layer leaves after some new tokens, without its gradients.

        Args:
            held: The tensors, as many as before and of the same shapes.
            new: How many tokens these were.
        """
        self.held = tuple(one.detach() for one in held)
        self.length += new

    def crop(self, length: int) -> None:
        """Forget all tokens, or none: a state cannot take back what was written to it.

        Raises:
            ValueError: The length is neither 0 nor that of all tokens.
        """
        check_int(length=length)
        if length not in (0, self.length):
            raise ValueError(f"length must be 0 or {self.length} for a state, got {length}")
        if length == 0:
            self.held, self.length = tuple(map(torch.zeros_like, self.held)), 0

    def _select(self, rows: Tensor) -> None:
        self.held = tuple(one[rows.long()] for one in self.held)
