"""Attentions to be tested for leaks: causal ones, and ones in which a leak was planted."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from course_utils.attention import causal_mask, masked_softmax

Attention = Callable[[Tensor], Tensor]


class Layer:
    """One head of attention over (1, n, d), made of steps that can be exchanged."""

    def __init__(self, n: int, d: int, d_v: int, g: torch.Generator) -> None:
        self.n, self.d, self.d_v = n, d, d_v
        self.W_qk = torch.randn(d, d, generator=g, dtype=torch.float32) / d
        self.W_v = torch.randn(d, d_v, generator=g, dtype=torch.float32) / math.sqrt(d)
        self.counts = torch.arange(1, n + 1).unsqueeze(-1)

    def causal(self, ahead: int = 0) -> Tensor:
        """Return the mask that sees so many positions ahead."""
        return causal_mask(self.n, self.n, ahead)

    def scores(self, x: Tensor) -> Tensor:
        """Return the scores (1, n, n)."""
        return x @ self.W_qk @ x.mT

    def masked(self, mask: Tensor) -> Attention:
        """Return attention under a mask without empty rows."""
        hidden = ~mask

        def attend(x: Tensor) -> Tensor:
            weights = self.scores(x).masked_fill(hidden, -torch.inf).softmax(-1)
            return weights @ (x @ self.W_v)

        return attend

    def hardest(self, mask: Tensor) -> Attention:
        """Return attention to the best visible key alone: it has no useful gradient."""
        hidden = ~mask

        def attend(x: Tensor) -> Tensor:
            best = self.scores(x).masked_fill(hidden, -torch.inf).argmax(-1)
            return (x.detach() @ self.W_v)[:, best[0]]

        return attend

    def mean(self, x: Tensor) -> Tensor:
        """Return the mean of the values so far, without any softmax."""
        return (x @ self.W_v).cumsum(1) / self.counts

    def strict(self, attend: Attention) -> Attention:
        """Return an attention that takes nothing but what the exercise promises."""

        def attention(x: Tensor) -> Tensor:
            check_input(x, self.n, self.d)
            return attend(x)

        return attention


def check_input(x: Tensor, n: int, d: int) -> None:
    """Raise TypeError unless the input is float32 of shape (1, n, d)."""
    problem = None
    if not isinstance(x, Tensor) or x.dtype != torch.float32:
        problem = "another dtype"
    elif (shape := tuple(x.shape)) != (1, n, d):
        problem = "another length or width"
        if len(shape) != 3:
            problem = "another number of axes"
        elif shape[0] != 1:
            problem = "another number of sequences"
    if problem:
        raise TypeError(
            "attention takes float32 of the shape (1, num_positions, d_model), and this input has "
            + problem
        )


def normalised_over_positions(out: Tensor) -> Tensor:
    """Normalise as batch norm does while training: by the mean and spread over all positions."""
    mean, spread = out.mean((0, 1)), out.std((0, 1), correction=0)
    return (out - mean) / (spread + 1e-3)


def mixed(x: Tensor) -> Tensor:
    """Return one number a position (1, n, 1) to which every feature adds its own share."""
    return x @ (1.0 / torch.arange(1, x.shape[-1] + 1, dtype=torch.float32)).unsqueeze(-1)


def pair(n: int, query: int, key: int, size: float = 1.0) -> Tensor:
    """Return the table (n, n) that is 0 but for one pair of a query and a key."""
    table = torch.zeros(n, n, dtype=torch.float32)
    table[query, key] = size
    return table


def step_ahead(n: int, size: float) -> Tensor:
    """Return the table (n, n) in which each query reads the next position."""
    return size * torch.eye(n, dtype=torch.float32).roll(1, 1).triu()


def scrambled(layer: Layer, x: Tensor) -> Tensor:
    """Split two heads by `view` alone: a head then mixes rows, and its causal mask is no help."""
    heads = x.contiguous().view(1, 2, layer.n, layer.d // 2)
    weights = masked_softmax(heads @ heads.mT, layer.causal())
    return (weights @ heads).reshape(1, layer.n, layer.d)


def later_weights(layer: Layer, x: Tensor) -> Tensor:
    """Sharpen the scores by a mean over all positions: the future moves the weights only."""
    sharpness = 1.0 + mixed(x).mean(1, keepdim=True)
    return masked_softmax(sharpness * layer.scores(x), layer.causal()) @ (x @ layer.W_v)


def late_mask(layer: Layer, x: Tensor) -> Tensor:
    """Mask after the softmax: what is hidden still counts in the denominator."""
    return layer.scores(x).softmax(-1).tril() @ (x @ layer.W_v)
