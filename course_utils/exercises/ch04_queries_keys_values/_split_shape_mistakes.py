"""What goes wrong with the axes of a split: what comes back has another shape, or is another kind.

The first case has all sizes equal, so that the values tell what the shape would hide.
"""

from typing import Any

import torch
from torch import Tensor

from course_utils.checking.exercise import Misconception
from course_utils.exercises.ch04_queries_keys_values._split_steps import (
    build,
    each,
    heads,
    some,
    thirds,
)


def _one_head_wide(qkv: Tensor, num_heads: int) -> tuple[Any, ...]:
    """Cut pieces of d_k instead of d_model."""
    width = qkv.shape[-1] // 3 // num_heads
    return tuple(qkv[..., i * width : (i + 1) * width] for i in range(3))


def _width_64(third: Tensor, num_heads: int) -> Tensor:
    return third.reshape(*third.shape[:2], num_heads, 64).transpose(1, 2)


def _fixed(count: int) -> Any:
    return build(split=lambda third, num_heads: heads(third, count))


SHAPES = (
    Misconception(
        "heads not moved before the positions",
        build(split=lambda third, H: third.unflatten(-1, (H, -1))),
        "The heads are cut, but the axis of the positions still comes before theirs: (B, L, H, "
        "d_k). Which two axes should swap, so that each head has a table of its own?",
        also=(
            some(lambda part: part.transpose(1, 2), 0),
            some(lambda part: part.transpose(1, 2), 1),
            some(lambda part: part.transpose(1, 2), 2),
        ),
    ),
    Misconception(
        "the wrong axes swapped",
        each(lambda part: part.transpose(0, 1)),
        "The axes stand in another order than (B, H, L, d_k). Name the axes after each step: "
        "which two should swap?",
        also=(
            each(lambda part: part.mT),
            each(lambda part: part.permute(0, 2, 3, 1)),
            each(lambda part: part.permute(0, 3, 1, 2)),
            each(lambda part: part.permute(0, 3, 2, 1)),
            each(lambda part: part.permute(2, 0, 1, 3)),
            each(lambda part: part.permute(1, 2, 0, 3)),
            each(lambda part: part.permute(2, 1, 0, 3)),
        ),
    ),
    Misconception(
        "key transposed already",
        some(lambda part: part.mT, 1),
        "The key came back as (B, H, d_k, L). The scores transpose it when they need it; here all "
        "three have the same shape.",
    ),
    Misconception(
        "number and width of heads swapped",
        build(split=lambda third, H: third.unflatten(-1, (-1, H)).transpose(1, 2)),
        "There are d_k heads of width num_heads: the two new sizes changed places. Which of them "
        "is the argument?",
    ),
    Misconception(
        "no heads made",
        thirds,
        "The three thirds came back whole. How does an axis of d_model become two, one for the "
        "heads?",
        also=(
            build(split=lambda third, H: third.unsqueeze(1)),
            build(split=lambda third, H: third.unsqueeze(1).repeat(1, H, 1, 1)),
            build(split=lambda third, H: third.unsqueeze(1) / H),
        ),
    ),
    Misconception(
        "pieces as wide as one head",
        build(cut=_one_head_wide, split=lambda part, H: part.unsqueeze(1)),
        "The pieces are d_k wide, so only the first heads' queries are used. How wide are the "
        "queries of all heads together?",
        also=(
            build(
                cut=_one_head_wide,
                split=lambda part, H: part.unsqueeze(1).expand(-1, H, -1, -1),
            ),
        ),
    ),
    Misconception(
        "a fixed number or width of heads",
        _fixed(3),
        "The number of heads, or their width, does not follow the arguments. Which size was "
        "written as a number?",
        also=(_fixed(2), _fixed(8), _fixed(12), build(split=_width_64)),
    ),
    Misconception(
        "squeeze takes too many axes",
        each(lambda part: part.squeeze()),
        "With one sequence, one head, one position or a width of 1 an axis is lost: `squeeze()` "
        "without a number removes every axis of size 1.",
        also=(each(lambda part: part.squeeze(0)), each(lambda part: part.squeeze(1))),
    ),
    Misconception(
        "batch and heads in one axis",
        each(lambda part: part.flatten(0, 1)),
        "Batch and heads came back in one axis, as `bmm` wants them. Here both keep an axis of "
        "their own.",
    ),
    Misconception(
        "stacked into one tensor",
        build(after=lambda *three: torch.stack(three)),
        "The three came back as one tensor. Which method takes it apart along its first axis?",
        also=(build(after=lambda *three: torch.stack(three, 2)),),
    ),
)
