"""Attention's backward pass with exchangeable steps: a mistake exchanges one of them."""

import math
from typing import Any

import torch
from torch import Tensor

from course_utils.attention import stable_softmax
from course_utils.checking.exercise import Function

Three = tuple[Tensor, Tensor, Tensor]


def through_softmax(weights: Tensor, grad: Tensor) -> Tensor:
    """The softmax's Jacobian applied to a row, as it should be."""
    return weights * (grad - (weights * grad).sum(-1, keepdim=True))


def build(
    forward: Any = lambda q, k, v: 1 / math.sqrt(q.shape[-1]),
    backward: Any = lambda q, k, v: 1 / math.sqrt(q.shape[-1]),
    softmax: Any = stable_softmax,
    through: Any = through_softmax,
    value_weights: Any = lambda weights, grad_scores: weights,
    finish: Any = lambda dq, dk, dv: (dq, dk, dv),
) -> Function:
    """Return the backward pass with some of its steps exchanged."""

    def wrong(query: Tensor, key: Tensor, value: Tensor, grad_out: Tensor) -> Any:
        weights = softmax(query @ key.mT * forward(query, key, value))
        grad_scores = through(weights, grad_out @ value.mT)
        scaled = grad_scores * backward(query, key, value)
        grad_value = value_weights(weights, grad_scores).mT @ grad_out
        return finish(scaled @ key, scaled.mT @ query, grad_value)

    return wrong


def autograd(query: Tensor, key: Tensor, value: Tensor, grad_out: Tensor) -> Any:
    """The gradients from autograd."""
    with torch.enable_grad():
        given = [x.detach().requires_grad_() for x in (query, key, value)]
        out = torch.softmax(given[0] @ given[1].mT / math.sqrt(query.shape[-1]), -1) @ given[2]
        return torch.autograd.grad(out, given, grad_out)


def forward_instead(query: Tensor, key: Tensor, value: Tensor, grad_out: Tensor) -> Tensor:
    """The forward pass."""
    return stable_softmax(query @ key.mT / math.sqrt(query.shape[-1])) @ value


def root_of(which: str, axis: int) -> Any:
    """The root of some axis as a scale."""

    def root(query: Tensor, key: Tensor, value: Tensor) -> float:
        tensor = {"q": query, "k": key, "v": value}[which]
        return 1 / math.sqrt(tensor.shape[axis])

    return root


def eighth(query: Tensor, key: Tensor, value: Tensor) -> float:
    """A scale that fits one width only."""
    return 1 / 8


def lower(scores: Tensor) -> Tensor:
    """What a causal mask shows."""
    return torch.ones(scores.shape[-2:], dtype=torch.bool).tril()


def summed(*grads: Tensor) -> tuple[Tensor, ...]:
    """Gradients added over the first axis."""
    return tuple(g.sum(0, keepdim=True).expand_as(g) if g.dim() > 2 else g for g in grads)


def row_of_squares(query: Tensor, key: Tensor, value: Tensor, grad_out: Tensor) -> Any:
    """The row's average taken from the output alone."""
    out = forward_instead(query, key, value, grad_out)
    row = out.square().sum(-1, keepdim=True)
    return build(through=lambda w, g: w * (g - row))(query, key, value, grad_out)


def value_from_output(query: Tensor, key: Tensor, value: Tensor, grad_out: Tensor) -> Any:
    """The value's gradient from the output."""
    dq, dk, _ = build()(query, key, value, grad_out)
    weights = stable_softmax(query @ key.mT / math.sqrt(query.shape[-1]))
    return dq, dk, weights.mT @ (weights @ value)


def value_from_scores(query: Tensor, key: Tensor, value: Tensor, grad_out: Tensor) -> Any:
    """The value's gradient through scores."""
    dq, dk, _ = build()(query, key, value, grad_out)
    return dq, dk, (query @ key.mT / math.sqrt(query.shape[-1])).mT @ grad_out


def scale_one_side(index: int) -> Function:
    """The scale missing on one of query and key."""

    def finish(dq: Tensor, dk: Tensor, dv: Tensor) -> Three:
        root = math.sqrt(dq.shape[-1])
        return (dq * root, dk, dv) if index == 0 else (dq, dk * root, dv)

    return build(finish=finish)


def one(query: Tensor, key: Tensor, value: Tensor) -> float:
    """No scale."""
    return 1.0
