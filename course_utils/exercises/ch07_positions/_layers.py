"""Layers to be tested for equivariance: some only shuffle, some use the order in a hidden way."""

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn

from course_utils.checking.inputs import normal
from course_utils.positions import sinusoidal_encoding

Make = Callable[[torch.Generator, int], Callable[[Tensor], Tensor]]


class Layer(nn.Module):
    """A function of a batch of sequences in the form of a module."""

    def __init__(self, function: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Tensor) -> Tensor:
        """Return what the function makes of the sequences."""
        return self.function(x)


def attention(
    bias: Callable[[Tensor], Tensor] = lambda steps: torch.zeros_like(steps),
    size: float = 1.0,
    shift: float = 0.0,
) -> Make:
    """Return attention with a bias made of the distances key minus query, its output moved."""

    def make(g: torch.Generator, width: int) -> Callable[[Tensor], Tensor]:
        W_q, W_k, W_v = (normal(g, width, width) for _ in range(3))

        def attend(x: Tensor) -> Tensor:
            query, key, value = (x @ W.to(x.dtype) for W in (W_q, W_k, W_v))
            place = torch.arange(x.shape[1], dtype=x.dtype)
            scores = query @ key.mT / math.sqrt(width) + bias(place - place.unsqueeze(-1))
            return torch.softmax(scores, dim=-1) @ value * size + shift

        return attend

    return make


def causal(steps: Tensor) -> Tensor:
    """Hide later keys."""
    return torch.zeros_like(steps).masked_fill(steps > 0, -torch.inf)


def network(g: torch.Generator, width: int) -> Callable[[Tensor], Tensor]:
    """Return a feed-forward layer."""
    W_in, W_out = normal(g, width, 9), normal(g, 9, width)
    return lambda x: torch.relu(x @ W_in) @ W_out


def with_positions(size: float = 1.0, axis: int = 1) -> Make:
    """Return attention on tokens with sinusoidal encodings, read along an axis."""

    def make(g: torch.Generator, width: int) -> Callable[[Tensor], Tensor]:
        attend = attention()(g, width)

        def layer(x: Tensor) -> Tensor:
            pe = sinusoidal_encoding(x.shape[axis], width + width % 2)[:, :width].double()
            return attend(x + size * (pe if axis == 1 else pe[:, None]))

        return layer

    return make


def plain(function: Callable[[Tensor], Tensor]) -> Make:
    """Return a layer without weights."""
    return lambda g, width: function


def pooled(x: Tensor) -> Tensor:
    """Give each token the mean of all."""
    return x.mean(1, keepdim=True).expand_as(x)


def from_neighbours(x: Tensor) -> Tensor:
    """Add the token before, round the corner too."""
    return x + 0.5 * x.roll(1, 1)


def changed_at(x: Tensor, place: int) -> Tensor:
    """Add 1 at one place of every sequence."""
    change = torch.zeros_like(x)
    change[:, place] = 1.0
    return x + change


def numbered(x: Tensor, share: Tensor) -> Tensor:
    """Add to each token its number times a share."""
    number = torch.arange(x.shape[1], dtype=x.dtype).view(1, -1, 1)
    return x + number * share


def later(x: Tensor) -> Tensor:
    """Return 0 for the first sequence and 1 for the others."""
    return (torch.arange(x.shape[0]) > 0).to(x.dtype).view(-1, 1, 1)


def high(x: Tensor) -> Tensor:
    """Return 1 for sequences of high numbers and 0 for the others."""
    return (x.mean((1, 2), keepdim=True) > 2.5).to(x.dtype)


def last_feature(x: Tensor) -> Tensor:
    """Return 1 for the last feature and 0 for the others."""
    return (torch.arange(x.shape[2]) == x.shape[2] - 1).to(x.dtype)


def signs(x: Tensor, axis: int) -> Tensor:
    """Return 1 and -1 in turn along an axis; they sum to 0 where its size is even."""
    shape = [1, 1, 1]
    shape[axis] = -1
    return (1 - 2 * (torch.arange(x.shape[axis]) % 2)).to(x.dtype).view(shape)
