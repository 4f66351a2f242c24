"""What goes wrong in the tiled backward pass: the weights, and the way back through the softmax."""

import math

import torch
from torch import Tensor

from course_utils.checking.exercise import Misconception
from course_utils.exercises.ch09_flash._walking_back import build


def _none(grad: Tensor, out: Tensor) -> Tensor:
    return torch.zeros_like(grad[..., :1])


def _bare(scores: Tensor, lse: Tensor) -> Tensor:
    return scores.exp()


def _tile_softmax(scores: Tensor, lse: Tensor) -> Tensor:
    return scores.softmax(-1)


def _by_own_maximum(scores: Tensor, lse: Tensor) -> Tensor:
    return (scores - scores.amax(-1, keepdim=True)).exp()


def _twos(scores: Tensor, lse: Tensor) -> Tensor:
    return torch.exp2(scores - lse.unsqueeze(-1))


def _divided(scores: Tensor, lse: Tensor) -> Tensor:
    return scores.exp() / lse.unsqueeze(-1)


def _added(scores: Tensor, lse: Tensor) -> Tensor:
    return (scores + lse.unsqueeze(-1)).exp()


def _bare_divided(scores: Tensor, lse: Tensor) -> Tensor:
    return scores.exp() / lse.unsqueeze(-1).exp()


def _tile_sum(weights: Tensor, grad: Tensor, delta: Tensor) -> Tensor:
    """Take the row average from the tile alone."""
    return weights * (grad - (weights * grad).sum(-1, keepdim=True))


SOFTMAX = (
    Misconception(
        "D missing",
        build(delta=_none),
        "dv is right; dq and dk lack what the softmax takes away: within a row the gradients of "
        "the scores sum to 0, since the weights sum to 1. Which number a query is subtracted?",
    ),
    Misconception(
        "D of the tile alone",
        build(through=_tile_sum),
        "The row average was taken over this tile's keys. It belongs to the whole row: which "
        "tensors that come in know the whole row already?",
    ),
    Misconception(
        "D from other tensors",
        build(delta=lambda grad, out: out.square().sum(-1, keepdim=True)),
        "dv is right; the number that is subtracted from the weights' gradients is not. It is the "
        "average of those gradients under the weights: which two tensors does that come to?",
        also=(
            build(delta=lambda grad, out: grad.square().sum(-1, keepdim=True)),
            build(delta=lambda grad, out: grad.sum(-1, keepdim=True)),
            build(delta=lambda grad, out: out.sum(-1, keepdim=True)),
            build(delta=lambda grad, out: (grad * out).mean(-1, keepdim=True)),
            build(delta=lambda grad, out: (grad + out).sum(-1, keepdim=True)),
            build(delta=lambda g, o: g.sum(-1, keepdim=True) * o.sum(-1, keepdim=True)),
            build(delta=lambda g, o: (g * o).sum(-1, keepdim=True) / math.sqrt(g.shape[-1])),
            build(
                delta=lambda g, o: (
                    (g * o).sum(-2, keepdim=True).mean(-1, keepdim=True).expand(*g.shape[:-1], 1)
                )
            ),
            build(delta=lambda g, o: torch.ones_like(g[..., :1])),
            build(delta=lambda g, o: (g * o).sum((-1, -2), keepdim=True).expand_as(g[..., :1])),
        ),
    ),
    Misconception(
        "D with the wrong sign",
        build(through=lambda weights, grad, delta: weights * (grad + delta)),
        "dv is right; in dq and dk the row average was added. A row of the scores' gradients must "
        "sum to 0.",
        also=(build(through=lambda weights, grad, delta: weights * (delta - grad)),),
    ),
    Misconception(
        "D outside of the weights",
        build(through=lambda weights, grad, delta: weights * grad - delta),
        "The row average was subtracted after the product with the weights. What multiplies what "
        "in a row of the softmax's Jacobian?",
        also=(build(through=lambda weights, grad, delta: (grad - delta) - weights),),
    ),
    Misconception(
        "the weights left out of the softmax's slope",
        build(through=lambda weights, grad, delta: grad - delta),
        "The scores' gradient was not multiplied by the weights. A key without weight cannot "
        "change the output: what must its gradient be?",
        also=(
            build(through=lambda weights, grad, delta: grad),
            build(through=lambda weights, grad, delta: weights * (1 - weights) * grad),
            build(through=lambda weights, grad, delta: weights.square() * (grad - delta)),
            build(through=lambda weights, grad, delta: weights * (1 - weights) * (grad - delta)),
        ),
    ),
    Misconception(
        "weights not normalised",
        build(weigh=_bare),
        "The tile's weights are exponentials that were not divided by their row's sum. Which "
        "argument holds that sum, as a logarithm?",
        also=(build(weigh=_by_own_maximum), build(weigh=_divided), build(weigh=_added)),
    ),
    Misconception(
        "a softmax in every tile",
        build(weigh=_tile_softmax),
        "The weights of each tile sum to 1, as if there were no other. The row's sum over all "
        "tiles came in as an argument: which?",
    ),
    Misconception(
        "lse after the exponential",
        build(weigh=_bare_divided),
        "The weights are right as long as the scores are small; exp of a score near 2,000 is "
        "infinite. Where can lse be subtracted instead?",
    ),
    Misconception(
        "powers of another base",
        build(weigh=_twos),
        "Powers of 2 were taken of natural logarithms. Either the base is e, or scores and lse are "
        "both multiplied by log₂ e before.",
    ),
)
