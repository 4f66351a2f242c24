"""Rotating pairs of features: what both pairings of RoPE and its tables share."""

from collections.abc import Callable

import torch
from jaxtyping import Float, Shaped
from torch import Tensor


def frequencies(width: int, base: float) -> Float[Tensor, " half_width"]:
    """Return base^(-2i/width) for each pair i, in float64."""
    pair = torch.arange(width // 2, dtype=torch.float64)
    return torch.as_tensor(base, dtype=torch.float64) ** (-2 * pair / width)


def angles(
    positions: Shaped[Tensor, "*axes"], frequencies: Float[Tensor, " half_width"]
) -> Float[Tensor, "*axes half_width"]:
    """Return position times frequency, in float64.

    In float32 a product in the thousands keeps three or four decimals, and the cosine
    depends on the decimals.
    """
    return positions.to(torch.float64).unsqueeze(-1) * frequencies.to(positions.device)


def per_head(table: Float[Tensor, "*B L half_width"], x: Tensor) -> Tensor:
    """Insert the axis of the heads into a table with a row for each token of each sequence."""
    if table.dim() < 3:
        return table
    return table.view(table.shape[0], *(1 for _ in range(x.dim() - 3)), *table.shape[1:])


def rotate_interleaved(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotate the pairs (0, 1), (2, 3), ..."""
    u, v = x[..., 0::2], x[..., 1::2]
    return torch.stack((u * cos - v * sin, u * sin + v * cos), dim=-1).flatten(-2)


def rotate_split_halves(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotate the pairs (0, d/2), (1, d/2 + 1), ..."""
    u, v = x.chunk(2, dim=-1)
    return torch.cat((u * cos - v * sin, u * sin + v * cos), dim=-1)


PARTNERS: dict[str, Callable[[Tensor], Tensor]] = {
    "interleaved": lambda x: x.unflatten(-1, (-1, 2)).flip(-1).flatten(-2),
    "split halves": lambda x: x.roll(x.shape[-1] // 2, dims=-1),
}
"""Where the other feature of each pair is: a rotation is x·cos ± partner·sin."""
WIDENED: dict[str, Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]] = {
    "interleaved": lambda cos, sin: (
        cos.repeat_interleave(2, dim=-1), torch.stack((-sin, sin), dim=-1).flatten(-2)
    ),
    "split halves": lambda cos, sin: (
        torch.cat((cos, cos), dim=-1), torch.cat((-sin, sin), dim=-1)
    ),
}  # fmt: skip
"""Tables with a column for each feature instead of each pair; the sine has its partner's sign."""
