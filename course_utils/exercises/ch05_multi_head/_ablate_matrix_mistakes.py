"""What goes wrong between the heads that are left and W_o."""

import torch

from course_utils.attention import merge_heads
from course_utils.checking.exercise import Misconception
from course_utils.exercises.ch05_multi_head._ablate_wrong import (
    build,
    columns_of,
    kept_only,
    per_channel,
    repeated,
    rows_of,
    with_matrix,
)

MATRIX = (
    Misconception(
        "output channels silenced",
        with_matrix(lambda matrix, keep: matrix * per_channel(keep, matrix)),
        "Whole channels of the output are zero, and every head still speaks into the others: "
        "columns of W_o were cleared, or the output itself. W_o mixes all heads into all channels; "
        "where are the heads still apart, and which rows of W_o does one of them feed?",
        also=(
            build(finish=lambda out, keep: out * repeated(keep, out)),
            with_matrix(columns_of),
            build(finish=lambda out, keep: out * per_channel(keep, out)),
        ),
    ),
    Misconception(
        "the wrong rows of W_o",
        with_matrix(lambda matrix, keep: matrix * keep.repeat(len(matrix) // len(keep))[:, None]),
        "Some rows of W_o were set to zero, but not those that the silent heads feed. Which rows "
        "does head h feed, if the heads lie side by side?",
        also=(
            with_matrix(lambda matrix, keep: rows_of(matrix, keep, lambda h, d_k: slice(h, h + 1))),
            with_matrix(
                lambda matrix, keep: rows_of(matrix, keep, lambda h, d_k: slice(h, h + d_k))
            ),
            with_matrix(
                lambda matrix, keep: rows_of(
                    matrix, keep, lambda h, d_k: slice((h + 1) * d_k, (h + 2) * d_k)
                )
            ),
            build(
                silence=lambda heads, keep: heads,
                merge=lambda heads, keep: merge_heads(heads) * repeated(keep, merge_heads(heads)),
            ),
        ),
    ),
    Misconception(
        "heads taken away instead of silenced",
        kept_only(lambda matrix, count: matrix[:count]),
        "The silent heads were cut out, and those behind them moved up: they now feed rows of W_o "
        "that are not theirs. What keeps each head in its place?",
        also=(
            kept_only(lambda matrix, count: matrix),
            kept_only(lambda matrix, count: matrix, pad=True),
        ),
    ),
    Misconception(
        "W_o transposed",
        build(project=lambda merged, matrix: merged @ matrix.mT),
        "W_o was transposed. It is applied as x @ W_o here; `nn.Linear` keeps the transpose.",
        also=(
            build(project=lambda merged, matrix: torch.nn.functional.linear(merged, matrix)),
            build(project=lambda merged, matrix: (matrix @ merged.mT).mT),
        ),
    ),
    Misconception(
        "no W_o",
        build(project=lambda merged, matrix: merged),
        "The heads were merged, but nothing mixes them. What does W_o do?",
        also=(build(project=lambda merged, matrix: merged * matrix.diagonal()),),
    ),
)
