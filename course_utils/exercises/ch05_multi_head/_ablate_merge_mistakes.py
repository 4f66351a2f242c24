"""What goes wrong when the heads that are left are merged."""

import torch

from course_utils.checking.exercise import Misconception
from course_utils.exercises.ch05_multi_head._ablate_wrong import build

MERGE = (
    Misconception(
        "merged without transposing back",
        build(merge=lambda heads, keep: heads.reshape(heads.shape[0], heads.shape[2], -1)),
        "The heads were laid into the stream in the order of memory, head before position, and so "
        "shuffled. What comes before the reshape?",
    ),
    Misconception(
        "heads interleaved",
        build(merge=lambda heads, keep: heads.permute(0, 2, 3, 1).flatten(-2)),
        "The features of the heads are interleaved when they meet W_o. Head h's features are "
        "neighbours in the stream.",
    ),
    Misconception(
        "heads summed instead of concatenated",
        build(
            merge=lambda heads, keep: heads.sum(1),
            project=lambda merged, matrix: merged @ matrix[: merged.shape[-1]],
        ),
        "The heads were added up before W_o, so all of them meet the same rows of it. Each head "
        "has rows of its own: how do the heads stand beside each other?",
        also=(
            build(
                merge=lambda heads, keep: heads.mean(1),
                project=lambda merged, matrix: merged @ matrix[: merged.shape[-1]],
            ),
            build(
                merge=lambda heads, keep: heads.sum(1).repeat(1, 1, heads.shape[1]),
            ),
        ),
    ),
    Misconception(
        "W_o for each head's own channels",
        build(
            merge=lambda heads, keep: heads,
            project=lambda heads, matrix: torch.cat(
                [
                    heads[:, h] @ block[:, h * heads.shape[-1] : (h + 1) * heads.shape[-1]]
                    for h, block in enumerate(matrix.chunk(heads.shape[1], 0))
                ],
                -1,
            ),
        ),
        "Each head was mixed within its own channels only. W_o mixes all heads into all channels: "
        "which columns does one head write to?",
    ),
    Misconception(
        "heads in the wrong order",
        build(merge=lambda heads, keep: heads.flip(1).transpose(1, 2).flatten(-2)),
        "The heads meet W_o in another order than they came in. Which rows belong to head 0?",
        also=(build(merge=lambda heads, keep: heads.roll(1, 1).transpose(1, 2).flatten(-2)),),
    ),
    Misconception(
        "not merged",
        build(
            merge=lambda heads, keep: heads,
            project=lambda heads, matrix: torch.einsum(
                "bhli,hij->bhlj", heads, matrix.view(heads.shape[1], -1, matrix.shape[1])
            ),
        ),
        "What each head adds to the output is there, but not added up: the axis of the heads is "
        "still there.",
    ),
)
