"""What goes wrong with the axes in a weighted sum of states."""

import torch
from torch import Tensor

from course_utils.attention import context_vector
from course_utils.checking.exercise import Misconception
from course_utils.exercises.ch01_bottleneck._context_wrong import products, then


def _squeezed(weights: Tensor, states: Tensor) -> Tensor:
    return (weights.unsqueeze(1) @ states).squeeze()


AXES = (
    Misconception(
        "mean over the batch axis",
        lambda w, s: products(w, s).sum(0),
        "The sum ran over the sequences of the batch: different sentences were added together. "
        "Which axis holds the states of one sentence?",
        also=(
            lambda w, s: products(w, s).mean(0),
            lambda w, s: s.mean(0) + 0.0 * w.sum(),
            lambda w, s: s.mean(0),
        ),
    ),
    Misconception(
        "sum over the features",
        lambda w, s: products(w, s).sum(-1),
        "The features of each state were added up, and the states kept apart. Which axis should "
        "disappear?",
        also=(lambda w, s: products(w, s).mean(-1),),
    ),
    Misconception(
        "summed over two axes",
        lambda w, s: torch.einsum("bs,csd->bd", w, s),
        "More was added together than one sentence's states. Which axes stay in the result?",
        also=(
            lambda w, s: products(w, s).sum((0, 1)),
            lambda w, s: products(w, s).sum((1, 2)),
            lambda w, s: torch.einsum("bs,csd->cd", w, s),
            lambda w, s: products(w, s).sum(),
        ),
    ),
    Misconception(
        "never summed",
        products,
        "Each state is multiplied by its weight, and then? One vector for each sequence is asked "
        "for.",
        also=(lambda w, s: products(w, s).cumsum(1),),
    ),
    Misconception(
        "weights on the features",
        lambda w, s: (w.unsqueeze(1) * s).sum(1),
        "The weights multiply the features, not the states. On which side do they need a new axis?",
        also=(
            lambda w, s: (w.unsqueeze(-2) * s).sum(-1),
            lambda w, s: (s @ w.unsqueeze(-1)).squeeze(-1),
        ),
    ),
    Misconception(
        "weights of one sequence on another's states",
        lambda w, s: w @ s,
        "Each row of weights met the states of every sequence: `weights @ states` takes (B, S) for "
        "one table for all. How does a row of weights become a table of its own for each sequence?",
        also=(
            lambda w, s: (w @ s).mean(0),
            lambda w, s: (w @ s).mean(1),
            lambda w, s: (w.unsqueeze(0).unsqueeze(-1) * s).sum(1),
            lambda w, s: (w.unsqueeze(0) * s).sum(1),
            lambda w, s: (w * s).sum(1),
            lambda w, s: torch.tensordot(w, s, dims=([1], [1])),
            lambda w, s: context_vector(w.mT, s),
        ),
    ),
    Misconception(
        "the first sequence for all",
        lambda w, s: context_vector(w[:1].expand_as(w), s),
        "All results come from one sequence's weights or states. Which axis is the batch?",
        also=(
            lambda w, s: w[0] @ s,
            lambda w, s: w[0] @ s[0],
            lambda w, s: context_vector(w, s[:1].expand_as(s)),
        ),
    ),
    Misconception(
        "features before the batch",
        then(lambda c, s: c.mT),
        "The result has its two axes swapped. Which comes first, the sequence or the feature?",
    ),
    Misconception(
        "an axis of size 1 left in",
        then(lambda c, s: c.unsqueeze(1)),
        "The axis that was summed is still there, with size 1. How many axes has one vector for "
        "each sequence?",
        also=(then(lambda c, s: c.unsqueeze(-1)), then(lambda c, s: c.unsqueeze(0))),
    ),
    Misconception(
        "squeeze takes too many axes",
        _squeezed,
        "With one sequence, or a width of 1, an axis is lost: `squeeze()` without a number removes "
        "every axis of size 1. Which one did you mean?",
        also=(
            lambda w, s: context_vector(w, s).squeeze(0),
            lambda w, s: context_vector(w, s).squeeze(-1),
        ),
    ),
)
