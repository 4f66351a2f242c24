"""Layers with a state: their weights drawn, and their pieces compared with the whole."""

from collections.abc import Callable
from typing import TypeVar

import torch
from torch import nn

Part = TypeVar("Part", bound=nn.Module)
X = torch.randn(2, 7, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(0))


def drawn(make: Callable[[], Part]) -> Part:
    """Return a part in float64 whose parameters are all drawn anew."""
    torch.manual_seed(0)
    part = make().double()
    for parameter in part.parameters():
        nn.init.normal_(parameter, std=0.7)
    return part


def assert_read_in_pieces(part: nn.Module) -> None:
    """Compare what a part reads of X in three pieces with what it reads at once."""
    past, found = part.empty(2, dtype=torch.float64), []
    for piece in X.split((1, 4, 2), dim=1):
        read, past = part(piece, past)
        found.append(read)
    torch.testing.assert_close(torch.cat(found, dim=1), part(X)[0])
