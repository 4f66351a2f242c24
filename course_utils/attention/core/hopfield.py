"""The modern Hopfield network: a memory whose update is one step of attention.

Source: Ramsauer et al. 2021, Hopfield Networks is All You Need, Eq. 2 and 3,
    https://arxiv.org/abs/2008.02217
Ours / theirs: state = ξ; patterns = Xᵀ, one per row where the paper has one per column; beta = β
Same contract as: SDPA with the state as query, the patterns as keys and values, and scale=beta
"""

import math

import torch
from jaxtyping import Float
from torch import Tensor

from course_utils.attention.core.softmax import stable_softmax
from course_utils.validation import check_number, check_positive, check_same_dtype


def hopfield_update(
    state: Float[Tensor, "*batch d"], patterns: Float[Tensor, "N d"], beta: float
) -> Float[Tensor, "*batch d"]:
    """Return the average of the patterns, weighted by softmax(beta · pattern·state).

    Args:
        state: What is to be completed.
        patterns: What is stored.
        beta: How sharp the choice is; 0 gives the mean of all patterns.
    """
    _check_memory(state, patterns)
    check_number(beta=beta)
    if not 0 <= beta < math.inf:
        raise ValueError(f"beta must be at least 0 and finite, got {beta}")
    return stable_softmax(beta * (state @ patterns.mT)) @ patterns


def hopfield_energy(
    state: Float[Tensor, "*batch d"], patterns: Float[Tensor, "N d"], beta: float
) -> Float[Tensor, "*batch"]:
    """Return -(1/β) ln Σ exp(β x·ξ) + ½ ξ·ξ + (1/β) ln N + ½ M², which no update raises.

    Its slope in the state is state - update, so that an update is a step of gradient descent of
    length 1. The constants, with M the largest norm of a pattern, keep it from going below 0.

    Arguments and errors are as in `hopfield_update`, and beta may not be 0.
    """
    _check_memory(state, patterns)
    check_positive(beta=beta)
    match = torch.logsumexp(beta * (state @ patterns.mT), dim=-1) / beta
    largest = patterns.square().sum(-1).amax()
    constants = math.log(len(patterns)) / beta + largest / 2
    return state.square().sum(-1) / 2 - match + constants


def _check_memory(state: Tensor, patterns: Tensor) -> None:
    check_same_dtype(state=state, patterns=patterns)
    if patterns.dim() != 2 or not len(patterns):
        raise ValueError(
            f"patterns must have the axes (N, d), N at least 1, got {tuple(patterns.shape)}"
        )
    if state.dim() == 0 or state.shape[-1] != patterns.shape[-1]:
        raise ValueError(
            f"state must be as wide as the patterns, {patterns.shape[-1]} numbers in its last "
            f"axis, got {tuple(state.shape)}"
        )
