"""What goes wrong when heads are left out: which of them, and what stands in their place."""

import torch
from torch import Tensor

from course_utils.checking.exercise import Misconception
from course_utils.exercises.ch05_multi_head._ablate_matrix_mistakes import MATRIX
from course_utils.exercises.ch05_multi_head._ablate_merge_mistakes import MERGE
from course_utils.exercises.ch05_multi_head._ablate_wrong import (
    along,
    build,
    fill_in_place,
    first,
    replaced,
    silence,
    so_many,
)


def _at_least_one(keep: Tensor) -> Tensor:
    """Keep the first head where none is kept."""
    return keep | (~keep.any() & (torch.arange(len(keep)) == 0))


WHICH = (
    Misconception(
        "keep ignored",
        build(silence=lambda heads, keep: heads),
        "All heads speak, whatever `keep` says. Where is it used?",
    ),
    Misconception(
        "keep inverted",
        build(silence=lambda heads, keep: silence(heads, ~keep)),
        "The heads that should speak are silent, and the others speak. What does True mean in "
        "`keep`, and what does True mean to `masked_fill`?",
    ),
    Misconception(
        "keep read as places",
        build(silence=lambda heads, keep: heads[:, keep.long()]),
        "`keep` was used as indices, so 0 and 1 picked heads 0 and 1. It holds one yes or no a "
        "head: what kind of index is that?",
        also=(
            build(
                silence=lambda heads, keep: silence(
                    heads, torch.isin(torch.arange(len(keep)), keep.long())
                )
            ),
        ),
    ),
    Misconception(
        "only one head kept or left out",
        build(silence=lambda heads, keep: silence(heads, first(keep))),
        "One head alone was kept, or one alone left out. `keep` may say so of several.",
        also=(
            build(silence=lambda heads, keep: silence(heads, ~first(~keep))),
            build(silence=lambda heads, keep: heads if keep.any() else heads * 0.0),
            build(silence=lambda heads, keep: heads if keep.all() else heads * 0.0),
            build(silence=lambda heads, keep: silence(heads, so_many(keep))),
        ),
    ),
    Misconception(
        "all heads kept if none is",
        build(silence=lambda heads, keep: silence(heads, keep) if keep.any() else heads),
        "With no head kept, all of them speak. None is a choice like any other: what should then "
        "be left?",
        also=(build(silence=lambda heads, keep: silence(heads, _at_least_one(keep))),),
    ),
    Misconception(
        "a wrong axis left out",
        build(silence=lambda heads, keep: along(heads, keep, 2)),
        "`keep` acted on another axis than the heads: sequences, positions or features became "
        "silent. Which axis of (B, H, L, d_k) does it belong to, and which axes does it need "
        "behind it?",
        also=(
            build(silence=lambda heads, keep: along(heads, keep, 0)),
            build(silence=lambda heads, keep: along(heads, keep, 3)),
            build(silence=lambda heads, keep: heads * keep),
            build(silence=lambda heads, keep: heads * keep[:, None]),
            build(silence=lambda heads, keep: heads * keep[:, None, None, None]),
            build(silence=lambda heads, keep: heads.masked_fill(~keep[:, None], 0.0)),
        ),
    ),
)

SIZE = (
    Misconception(
        "divided by the heads that are kept",
        build(finish=lambda out, keep: out / keep.sum()),
        "The output was divided by the number of kept heads. Heads are mixed by W_o, not averaged.",
        also=(
            build(finish=lambda out, keep: out / keep.sum().clamp(min=1)),
            build(finish=lambda out, keep: out / len(keep)),
            build(finish=lambda out, keep: out * keep.double().mean().to(out.dtype)),
        ),
    ),
    Misconception(
        "the rest made larger",
        build(finish=lambda out, keep: out * len(keep) / keep.sum()),
        "The kept heads were made louder to make up for the silent ones, as dropout does. Leaving "
        "a head out shows what is missing without it: should the others change?",
        also=(
            build(finish=lambda out, keep: out * (len(keep) / keep.sum().clamp(min=1))),
            build(finish=lambda out, keep: out / keep.double().mean().sqrt().to(out.dtype)),
        ),
    ),
    Misconception(
        "something else in place of zero",
        build(silence=lambda heads, keep: replaced(heads, keep, heads.mean(1, keepdim=True))),
        "A silent head still says something: an average, or what was found elsewhere, stands in "
        "its place. Zeros are asked for.",
        also=(
            build(silence=lambda heads, keep: replaced(heads, keep, heads.roll(1, 0))),
            build(silence=lambda heads, keep: replaced(heads, keep, heads.roll(1, 1))),
            build(silence=lambda heads, keep: replaced(heads, keep, heads[:, :1])),
            build(
                silence=lambda heads, keep: replaced(heads, keep, heads.mean((0, 2), keepdim=True))
            ),
            build(silence=lambda heads, keep: replaced(heads, keep, heads.mean(2, keepdim=True))),
            build(silence=lambda heads, keep: replaced(heads, keep, heads.mean(0, keepdim=True))),
        ),
    ),
    Misconception(
        "filled with another number",
        build(silence=lambda heads, keep: heads.masked_fill(~keep[:, None, None], -1e9)),
        "The silent heads were filled with a number that is not zero. A score can be hidden by "
        "-inf; what is silence in an output?",
        also=(
            build(silence=lambda heads, keep: heads.masked_fill(~keep[:, None, None], -torch.inf)),
            build(silence=lambda heads, keep: heads.masked_fill(~keep[:, None, None], 1.0)),
            build(silence=lambda heads, keep: heads.masked_fill(~keep[:, None, None], 1e-9)),
            build(silence=lambda heads, keep: heads.masked_fill(~keep[:, None, None], torch.nan)),
            build(silence=lambda heads, keep: heads - (~keep[:, None, None]).to(heads.dtype)),
        ),
    ),
    Misconception(
        "the change instead of the output",
        build(finish_all=lambda out, full: out - full),
        "This is how the output changes. The output of the heads that are kept is asked for.",
    ),
    Misconception(
        "written into the input",
        fill_in_place,
        "The heads were silenced in the tensor that was given, so the caller's data are lost. "
        "Which line writes into a tensor instead of making a new one?",
    ),
    Misconception(
        "cut off from the gradient",
        build(finish=lambda out, keep: out.detach()),
        "The values are right, but no gradient can flow back. What cuts the thread: `.detach()`, "
        "`.data`, numpy, or a fresh tensor made of numbers?",
    ),
)

MISCONCEPTIONS = (*WHICH, *MATRIX, *MERGE, *SIZE)
