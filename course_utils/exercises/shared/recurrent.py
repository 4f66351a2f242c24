"""Parameters shared by the exercises on recurrent networks."""

import torch
from torch import Tensor

from course_utils.checking.inputs import normal


def parameters(g: torch.Generator, d_in: int, d_h: int, dtype: str = "float64") -> tuple[Tensor, Tensor, Tensor]:
    """Draw W_xh, W_hh and b, small enough for tanh not to saturate."""
    kind: torch.dtype = getattr(torch, dtype)
    W_xh = normal(g, d_in, d_h, size=0.6, dtype=kind)
    return W_xh, normal(g, d_h, d_h, size=0.6, dtype=kind), normal(g, d_h, size=0.5, dtype=kind)
