"""The plain recurrent encoder: one step, and a whole sequence.

Source: Elman 1990, Finding Structure in Time, https://doi.org/10.1207/s15516709cog1402_1;
    the context as the last state is Sutskever et al. 2014, Sequence to Sequence Learning with
    Neural Networks, section 2, https://arxiv.org/abs/1409.3215
Ours / theirs: W_xh, W_hh = W^hx, W^hh, transposed;  context = v
Differs: tanh instead of Sutskever's LSTM, a bias, and batches whose sequences differ in length.
Same contract as: torch.nn.RNN with batch_first, its two biases summed, its matrices transposed
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from course_utils.validation import (
    check_axes,
    check_integers,
    check_same_dtype,
    check_shape,
)


def rnn_step(
    x: Float[Tensor, "batch d_in"],
    h: Float[Tensor, "batch d_h"],
    W_xh: Float[Tensor, "d_in d_h"],
    W_hh: Float[Tensor, "d_h d_h"],
    b: Float[Tensor, " d_h"],
) -> Float[Tensor, "batch d_h"]:
    """Return the next state: tanh(x W_xh + h W_hh + b).

    Args:
        x: The input of this step, one row for each sequence.
        h: The state so far.
        W_xh: What the input adds to the state.
        W_hh: What the old state passes on.
        b: One number for each feature of the state.
    """
    check_same_dtype(x=x, h=h, W_xh=W_xh, W_hh=W_hh, b=b)
    _check_sizes(x, W_xh, W_hh, b)
    if h.shape != (x.shape[0], b.shape[0]):
        raise ValueError(f"h must have the shape {(x.shape[0], b.shape[0])}, got {tuple(h.shape)}")
    return torch.tanh(x @ W_xh + h @ W_hh + b)


def encode(
    x: Float[Tensor, "batch S d_in"],
    lengths: Int[Tensor, " batch"],
    W_xh: Float[Tensor, "d_in d_h"],
    W_hh: Float[Tensor, "d_h d_h"],
    b: Float[Tensor, " d_h"],
) -> tuple[Float[Tensor, "batch S d_h"], Float[Tensor, "batch d_h"]]:
    """Return all states of the sequences, and the state after each one's last real token.

    The recurrence runs over the padding too; only the context knows of lengths.

    Args:
        x: The input sequences, padded to one length.
        lengths: How many tokens of each are real, at least 1.
        W_xh: What the input adds to the state.
        W_hh: What the old state passes on.
        b: One number for each feature of the state.

    Raises:
        ValueError: A length is not between 1 and S.
    """
    check_same_dtype(x=x, W_xh=W_xh, W_hh=W_hh, b=b)
    if x.dim() != 3:
        raise ValueError(f"x must have the axes (batch, S, d_in), got {tuple(x.shape)}")
    _check_sizes(x.flatten(0, 1), W_xh, W_hh, b)
    _check_lengths(lengths, x)
    h = x.new_zeros(x.shape[0], b.shape[0])
    states = []
    for step in x.unbind(dim=1):
        h = rnn_step(step, h, W_xh, W_hh, b)
        states.append(h)
    table = torch.stack(states, dim=1)
    rows = torch.arange(x.shape[0], device=x.device)
    return table, table[rows, lengths - 1]


def _check_sizes(x: Tensor, W_xh: Tensor, W_hh: Tensor, b: Tensor) -> None:
    check_axes("batch d_in", x=x)
    check_axes("d_h", b=b)
    check_shape((x.shape[1], b.shape[0]), W_xh=W_xh)
    check_shape((b.shape[0], b.shape[0]), W_hh=W_hh)


def _check_lengths(lengths: Tensor, x: Tensor) -> None:
    check_integers(lengths=lengths)
    check_shape(x.shape[:1], lengths=lengths)
    if x.shape[1] == 0 or bool(((lengths < 1) | (lengths > x.shape[1])).any()):
        raise ValueError(f"lengths must lie between 1 and {x.shape[1]}, got {lengths.tolist()}")
