"""What goes wrong with the order of numbers and axes when a stream is split into heads."""

import torch

from course_utils.checking.exercise import Misconception
from course_utils.exercises.ch05_multi_head._splits import (
    build,
    cut,
    cut_otherwise,
    permuted,
    shape,
    slices,
)

AXES = (
    Misconception(
        "cut without a transpose",
        lambda x, num_heads: x.reshape(shape(x, num_heads)),
        "The shape is right, but the numbers are shuffled: a head got whole positions in place of "
        "its own slice of every position. `view` reads memory in the order in which it lies; in "
        "which order do position and head lie there?",
        also=(
            lambda x, num_heads: cut(x, num_heads).reshape(shape(x, num_heads)),
            lambda x, num_heads: x.contiguous().view(shape(x, num_heads)),
        ),
    ),
    Misconception(
        "heads left behind the positions",
        build(turn=lambda heads: heads),
        "The width is cut as it should be, but the axes are still (B, L, H, d_k). Which axis must "
        "come before which, so that a matrix product sees one table (L, d_k) a head?",
        also=(
            lambda x, num_heads: x.reshape(shape(x, num_heads)).transpose(1, 2),
            lambda x, num_heads: cut(x, num_heads).transpose(1, 2).reshape(cut(x, num_heads).shape),
        ),
    ),
    Misconception(
        "width read as (d_k, H)",
        permuted(0, 3, 1, 2, cut=cut_otherwise),
        "The heads are interleaved: head h took every H-th feature, starting at h. Head h owns "
        "neighbours: which of H and d_k runs faster along the width?",
        also=(
            slices(lambda h, num_heads, d_model: slice(h, None, num_heads)),
            permuted(0, 1, 2, 3, cut=cut_otherwise),
            permuted(0, 3, 2, 1, cut=cut_otherwise),
        ),
    ),
    Misconception(
        "num_heads taken for the width of a head",
        lambda x, num_heads: torch.stack(x.split(num_heads, -1), 1),
        "There are d_k heads of width H instead of H heads of width d_k. `split` takes the size of "
        "a piece, `chunk` the number of pieces: which of them is `num_heads`?",
        also=(
            permuted(0, 2, 1, 3, cut=cut_otherwise),
            lambda x, num_heads: x.split(num_heads, -1),
        ),
    ),
    Misconception(
        "reshaped after the wrong transpose",
        lambda x, num_heads: x.transpose(1, 2).reshape(shape(x, num_heads)),
        "The shape is right, but the numbers are shuffled: the stream was transposed before its "
        "width was cut. Which of the two steps comes first?",
        also=(
            lambda x, num_heads: x.transpose(0, 1).reshape(shape(x, num_heads)),
            lambda x, num_heads: x.reshape(x.shape[0], num_heads, -1, x.shape[1]).mT,
            lambda x, num_heads: x.reshape(num_heads, x.shape[0], x.shape[1], -1).transpose(0, 1),
            lambda x, num_heads: x.reshape(x.shape[1], x.shape[0], num_heads, -1).permute(
                1, 2, 0, 3
            ),
            lambda x, num_heads: cut(x, num_heads).permute(0, 2, 3, 1).reshape(shape(x, num_heads)),
            lambda x, num_heads: cut(x, num_heads).permute(2, 0, 1, 3).reshape(shape(x, num_heads)),
        ),
    ),
    Misconception(
        "heads as the first axis",
        permuted(2, 0, 1, 3),
        "The heads come first and the sequences second. The batch stays the first axis: where do "
        "the heads belong?",
        also=(permuted(2, 1, 0, 3),),
    ),
    Misconception(
        "read as (L, B, d_model)",
        lambda x, num_heads: cut(x, num_heads).permute(1, 2, 0, 3),
        "The first axis was taken for the positions. Here the batch comes first: (B, L, d_model).",
        also=(
            lambda x, num_heads: x.reshape(x.shape[0], -1, x.shape[2] // num_heads).transpose(0, 1),
        ),
    ),
    Misconception(
        "other axes swapped",
        permuted(0, 2, 3, 1),
        "The width is cut as it should be, but other axes were swapped than heads and positions. "
        "The last two must stay position and feature, as (L, d_k).",
        also=(
            permuted(0, 1, 3, 2),
            permuted(0, 3, 2, 1),
            permuted(0, 3, 1, 2),
            permuted(2, 0, 3, 1),
            permuted(1, 0, 2, 3),
        ),
    ),
)
