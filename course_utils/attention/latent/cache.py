"""The cache of latent attention: one row for each token, in memory that is allocated once.

Source: DeepSeek-AI 2024, DeepSeek-V2, section 2.1, https://arxiv.org/abs/2405.04434
Ours / theirs: a row = (c_t^KV, k_t^R)
Same contract as: `torch.cat` of what `compress` returns, call by call
"""

import torch
from jaxtyping import Float
from torch import Tensor

from course_utils.attention.caches.counted import Counted
from course_utils.validation import (
    check_at_least,
    check_room,
    check_same_dtype,
    check_shape,
    check_storage,
)


class LatentCache(Counted):
    """The rows of one layer: of each token the latent vector and the rotated key.

    Args:
        batch: How many sequences there are.
        max_length: How many tokens there is room for.
        width: How wide a row is: d_latent + d_rope.
        dtype: Of the rows.
        device: Where they are.
    """

    def __init__(
        self, batch: int, max_length: int, width: int, *, dtype: torch.dtype = torch.float32,
        device: torch.device | str | None = None,
    ) -> None:  # fmt: skip
        check_at_least(1, batch=batch, max_length=max_length, width=width)
        check_storage(dtype, device)
        self._rows = torch.zeros(batch, max_length, width, dtype=dtype, device=device)

    @property
    def batch(self) -> int:
        """The number of sequences."""
        return len(self._rows)

    @property
    def num_bytes(self) -> int:
        """The bytes that the rows take, filled or not."""
        return self._rows.nbytes

    @torch.no_grad()
    def append(self, rows: Float[Tensor, "B T width"]) -> None:
        """Keep the rows of T new tokens.

        Raises:
            ValueError: They do not fit.
        """
        check_same_dtype("B T width", rows=rows, held=self._rows)
        check_shape((self.batch, rows.shape[1], self._rows.shape[2]), rows=rows)
        check_room(self.length, rows.shape[1], self._rows.shape[1])
        self._rows[:, self.length : self.length + rows.shape[1]] = rows
        self._length += rows.shape[1]

    def read(self) -> Float[Tensor, "B S width"]:
        """Return the rows of all tokens so far, without a copy."""
        return self._rows[:, : self.length]

    def _select(self, rows: Tensor) -> None:
        self._rows = self._rows[rows.long()]
