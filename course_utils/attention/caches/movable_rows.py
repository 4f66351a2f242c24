"""Keep some of several sequences, in any order: a beam continues from what another has read.

Source: the `beam_idx` by which Hugging Face's caches are reordered,
    https://github.com/huggingface/transformers
Ours / theirs: reorder, select, repeat = reorder_cache, batch_select_indices,
    batch_repeat_interleave
Same contract as: DynamicCache of transformers
"""

import torch
from jaxtyping import Int
from torch import Tensor

from course_utils.validation import check_at_least, check_integers


class MovableRows:
    """Several sequences that can be moved: those of a cache, or of the caches of a whole model."""

    @property
    def batch(self) -> int:
        """The number of sequences."""
        raise NotImplementedError

    def reorder(self, beams: Int[Tensor, " B"]) -> None:
        """Let sequence n continue from what sequence beams[n] holds: a step of beam search.

        Raises:
            ValueError: They are not as many as the sequences, or name one that does not exist.
        """
        check_rows(self.batch, beams=beams)
        if len(beams) != self.batch:
            raise ValueError(f"beams must name {self.batch} sequences, got {len(beams)}")
        self._select(beams)

    def select(self, rows: Int[Tensor, " n"]) -> None:
        """Keep these sequences, in this order; one may be named more than once.

        Raises:
            ValueError: There are none, or one does not exist.
        """
        check_rows(self.batch, rows=rows)
        self._select(rows)

    def repeat(self, times: int) -> None:
        """Repeat each sequence `times` times, its copies side by side."""
        check_at_least(1, times=times)
        self._select(torch.arange(self.batch).repeat_interleave(times))

    def _select(self, rows: Tensor) -> None:
        raise NotImplementedError


def check_rows(batch: int, **given: Tensor) -> None:
    """Raise unless the one tensor given names at least one of `batch` sequences, and no other."""
    ((name, rows),) = given.items()
    check_integers("n", **given)
    if not len(rows):
        raise ValueError(f"{name} must name at least one sequence, got none")
    outside = rows[(rows < 0) | (rows >= batch)]
    if len(outside):
        raise ValueError(
            f"{name} must name sequences from 0 to {batch - 1}, got {outside[0].item()}"
        )
