"""What goes wrong when a stream is split into heads: each mistake as something to run."""

import torch

from course_utils.checking.exercise import Misconception
from course_utils.exercises.ch05_multi_head._split_axes_mistakes import AXES
from course_utils.exercises.ch05_multi_head._splits import (
    always,
    build,
    d_k_always,
    slices,
)

SLICES = (
    Misconception(
        "heads folded into the batch",
        lambda x, num_heads: build()(x, num_heads).flatten(0, 1),
        "Sequences and heads share one axis. Four axes are asked for: (B, H, L, d_k).",
        also=(
            lambda x, num_heads: torch.cat(x.chunk(num_heads, -1), 0),
            lambda x, num_heads: torch.cat(x.chunk(num_heads, -1), 1),
        ),
    ),
    Misconception(
        "a tuple of heads",
        lambda x, num_heads: x.chunk(num_heads, -1),
        "The heads come as separate tensors. One tensor with an axis for the heads is asked for: "
        "what puts equal tensors side by side along a new axis?",
    ),
    Misconception(
        "positions shared out instead of features",
        lambda x, num_heads: x.reshape(x.shape[0], num_heads, -1, x.shape[2]),
        "Each head got some of the positions with their whole width. Every head sees every "
        "position: what is shared out among them?",
        also=(
            lambda x, num_heads: torch.stack(x.chunk(num_heads, 1), 1),
            lambda x, num_heads: x.reshape(x.shape[0], -1, num_heads, x.shape[2]).transpose(1, 2),
        ),
    ),
    Misconception(
        "the whole width for every head",
        lambda x, num_heads: x.unsqueeze(1).expand(-1, num_heads, -1, -1),
        "Every head got all of the features. They share the width: how wide is one head?",
        also=(
            lambda x, num_heads: x.unsqueeze(1),
            lambda x, num_heads: x.unsqueeze(1).repeat(1, num_heads, 1, 1),
        ),
    ),
    Misconception(
        "the same slice for every head",
        slices(lambda h, num_heads, d_model: slice(0, d_model // num_heads)),
        "All heads hold the same features. Where does the slice of head h begin?",
        also=(
            slices(lambda h, num_heads, d_model: slice(d_model - d_model // num_heads, d_model)),
        ),
    ),
    Misconception(
        "slices that overlap",
        slices(lambda h, num_heads, d_model: slice(h, h + d_model // num_heads)),
        "Two heads start too near each other, so that they share features and the last ones are in "
        "no head. How far apart do two heads start?",
        also=(
            slices(
                lambda h, num_heads, d_model: (
                    slice(h * num_heads, h * num_heads + d_model // num_heads)
                    if num_heads * num_heads <= d_model
                    else slice(h * d_model // num_heads, (h + 1) * d_model // num_heads)
                )
            ),
        ),
    ),
    Misconception(
        "a head or a feature lost",
        lambda x, num_heads: build()(x, num_heads)[:, 1:],
        "One head is missing, or one feature of every head. Where does a `range` begin and end, "
        "and which place does a slice leave out?",
        also=(
            lambda x, num_heads: build()(x, num_heads)[:, :-1],
            lambda x, num_heads: build()(x, num_heads)[..., :-1],
            lambda x, num_heads: build()(x, num_heads)[..., 1:],
        ),
    ),
    Misconception(
        "heads in the wrong order",
        build(turn=lambda heads: heads.transpose(1, 2).flip(1)),
        "The heads are the right slices in another order. Which slice is head 0's?",
        also=(build(turn=lambda heads: heads.transpose(1, 2).roll(1, 1)),),
    ),
    Misconception(
        "features in the wrong order",
        build(turn=lambda heads: heads.transpose(1, 2).flip(-1)),
        "Each head has its own features, but in reverse. What turned them round?",
        also=(build(turn=lambda heads: heads.transpose(1, 2).flip(2)),),
    ),
    Misconception(
        "axes of size 1 dropped",
        build(turn=lambda heads: heads.transpose(1, 2).squeeze()),
        "An axis of size 1 is gone: one sequence, one head or one position still has its axis. "
        "What removes axes without being asked which?",
        also=(
            build(turn=lambda heads: heads.transpose(1, 2).squeeze(0)),
            build(turn=lambda heads: heads.transpose(1, 2).squeeze(1)),
            build(turn=lambda heads: heads.transpose(1, 2).squeeze(2)),
            build(turn=lambda heads: heads.transpose(1, 2).squeeze(-1)),
        ),
    ),
    Misconception(
        "a fixed number of heads",
        always(8),
        "The number of heads is not the one that was given. Where does the number in the code come "
        "from?",
        also=(
            *(always(count) for count in (2, 3, 4, 6, 12)),
            *(d_k_always(width) for width in (2, 4, 8, 16, 32, 64)),
        ),
    ),
    Misconception(
        "the numbers changed",
        build(turn=lambda heads: heads.transpose(1, 2) * heads.shape[-1] ** -0.5),
        "The numbers themselves are not those of `x`. Splitting only moves them: what else "
        "happened on the way?",
        also=(
            build(turn=lambda heads: heads.transpose(1, 2) / heads.shape[2]),
            build(turn=lambda heads: heads.transpose(1, 2) * heads.shape[-1] ** -0.25),
            build(turn=lambda heads: heads.transpose(1, 2).softmax(-1)),
        ),
    ),
    Misconception(
        "cut off from the gradient",
        build(turn=lambda heads: heads.detach().transpose(1, 2)),
        "The values are right, but no gradient can flow back to `x`. What cuts the thread: "
        "`.detach()`, `.data`, numpy, or a fresh tensor made of numbers?",
    ),
)

MISCONCEPTIONS = (*AXES, *SLICES)
