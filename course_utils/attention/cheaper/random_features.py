"""Positive random features: a finite φ with φ(q)·φ(k) ≈ exp(q·k/√d).

Source: Choromanski et al. 2021, Rethinking Attention with Performers, Lemma 1 (positive features)
    and section 3.2 (orthogonal rows), https://arxiv.org/abs/2009.14794
Ours / theirs: projection = (ω_1, ..., ω_m);  num_features = m;  d = d
Differs: no stabiliser here, so that the estimate is exp's own; `performer_attention` has one.
    Rows are orthogonal in blocks of d, each as long as a normal vector of its own (the paper's
    regular form).
Same contract as: the mean over ω ~ N(0, I) of exp(ω·x' - |x'|²/2) exp(ω·y' - |y'|²/2) = exp(x'·y')
"""

import math

import torch
from jaxtyping import Float
from torch import Tensor

from course_utils.validation import check_at_least, check_float, check_instance


def positive_random_features(
    x: Float[Tensor, "*batch L d"], projection: Float[Tensor, "m d"]
) -> Float[Tensor, "*batch L m"]:
    """Return exp(w_j·x' - |x'|²/2) / √m for each row w_j of the projection, with x' = x / d^¼.

    Args:
        x: Queries or keys.
        projection: Random rows, the same for queries and keys.
    """
    return torch.exp(log_features(x, projection)) / math.sqrt(projection.shape[0])


def orthogonal_projection(
    num_features: int, d: int, generator: torch.Generator
) -> Float[Tensor, "m d"]:
    """Draw rows that are each normal, and mutually orthogonal within every block of d rows.

    Args:
        num_features: How many rows to draw.
        d: Width of a row.
        generator: The only source of randomness.
    """
    check_at_least(1, num_features=num_features, d=d)
    check_instance(torch.Generator, generator=generator)
    blocks = []
    for _ in range(-(-num_features // d)):
        directions, triangle = torch.linalg.qr(torch.randn(d, d, generator=generator))
        # QR alone fixes the signs of some rows; with these every direction is equally likely.
        blocks.append((directions * triangle.diagonal().sign()).mT)
    lengths = torch.randn(num_features, d, generator=generator).norm(dim=-1, keepdim=True)
    return lengths * torch.cat(blocks)[:num_features]


def log_features(x: Tensor, projection: Tensor) -> Tensor:
    """Return the exponents of the features; a constant added to them cancels in attention."""
    check_float("... length width", x=x)
    check_float(projection=projection)
    if projection.dim() != 2 or projection.shape[-1] != x.shape[-1]:
        raise ValueError(
            f"projection must have the shape (any, {x.shape[-1]}), a row as wide as x for each "
            f"feature, got {tuple(projection.shape)}"
        )
    x = x / math.pow(x.shape[-1], 0.25)
    return x @ projection.to(x.dtype).mT - 0.5 * x.square().sum(dim=-1, keepdim=True)
