"""Rows brought to norm 1, for the losses that compare directions."""

import torch
from torch import Tensor


def direction(x: Tensor) -> Tensor:
    """Return each row with norm 1; zeros stay zeros."""
    length = torch.linalg.vector_norm(x, dim=-1, keepdim=True)
    return x / length.masked_fill(length == 0.0, 1.0)
