"""What goes wrong when heads are merged: each mistake as something to run."""

import torch

from course_utils.checking.exercise import Misconception
from course_utils.exercises.ch05_multi_head._merges import (
    build,
    finished,
    permuted,
    reshaped,
    shape,
    tiled,
    turned_twice,
)

MISCONCEPTIONS = (
    Misconception(
        "merged without transposing back",
        lambda heads: heads.reshape(shape(heads)),
        "The shape is right, but the numbers are shuffled: a position got features of other "
        "positions. In memory head comes before position; which order does (B, L, d_model) need?",
        also=(turned_twice,),
    ),
    Misconception(
        "view without contiguous memory",
        build(lay=lambda turned, heads: turned.view(shape(heads))),
        "`view` cannot join two axes that do not lie side by side in memory, and after `transpose` "
        "they do not. What copies the numbers into the new order first, or does both at once?",
        also=(build(lay=lambda turned, heads: turned.view(*turned.shape[:2], -1)),),
    ),
    Misconception(
        "heads interleaved",
        permuted(0, 2, 3, 1),
        "The features of the heads are interleaved: first one of every head, then the next of "
        "every head. Head h's features are neighbours: which of head and feature runs faster?",
        also=(lambda heads: torch.stack(heads.unbind(1), -1).flatten(-2),),
    ),
    Misconception(
        "heads summed instead of concatenated",
        lambda heads: heads.sum(1),
        "The heads were added up, so one width d_k is left of all of them. They lie side by side "
        "in the stream: how wide is it?",
        also=(tiled(lambda heads: heads.sum(1)),),
    ),
    Misconception(
        "heads averaged",
        lambda heads: heads.mean(1),
        "The heads were averaged, so one width d_k is left of all of them. They lie side by side "
        "in the stream: how wide is it?",
        also=(tiled(lambda heads: heads.mean(1)),),
    ),
    Misconception(
        "the largest of the heads",
        lambda heads: heads.amax(1),
        "Of all heads only the largest number was kept, as pooling does. They lie side by side in "
        "the stream: how wide is it?",
    ),
    Misconception(
        "heads lost",
        lambda heads: heads[:, 0],
        "Heads are missing in the stream: one is left, or one is lost. Where do the others go?",
        also=(
            lambda heads: heads[:, -1],
            lambda heads: build()(heads[:, 1:]),
            lambda heads: build()(heads[:, :-1]),
            tiled(lambda heads: heads[:, 0]),
            tiled(lambda heads: heads[:, -1]),
        ),
    ),
    Misconception(
        "transposed but not merged",
        build(lay=lambda turned, heads: turned),
        "Heads and positions changed places, but there are still four axes. Which two become one?",
        also=(lambda heads: torch.stack(heads.unbind(1), -1), lambda heads: heads.mT),
    ),
    Misconception(
        "joined along the positions",
        lambda heads: heads.flatten(1, 2),
        "The heads were put one after the other along the positions, as if the sequence were H "
        "times longer. Along which axis are they neighbours in the stream?",
        also=(build(lay=lambda turned, heads: turned.flatten(1, 2)),),
    ),
    Misconception(
        "joined along the batch",
        lambda heads: heads.flatten(0, 1),
        "The heads were joined with the sequences, as if there were H times more of them. Along "
        "which axis are they neighbours in the stream?",
        also=(lambda heads: torch.cat(heads.unbind(1), 0),),
    ),
    Misconception(
        "sequences joined",
        build(lay=lambda turned, heads: turned.flatten(-2).flatten(0, 1)),
        "The sequences of the batch were joined with each other: an axis is gone, or as wide as "
        "the whole batch. The batch stays the first axis; which two axes meet?",
        also=(
            lambda heads: torch.cat(heads.unbind(0), -1),
            lambda heads: torch.cat(heads.unbind(0), 1),
        ),
    ),
    Misconception(
        "positions joined with the features",
        lambda heads: heads.flatten(2),
        "Each head's positions and features became one axis. Which axis of a head goes into "
        "d_model, and which one stays?",
        also=(
            lambda heads: heads.flatten(1),
            build(lay=lambda turned, heads: turned.flatten(1)),
            build(lay=lambda turned, heads: turned.reshape(*heads.shape[:2], -1)),
        ),
    ),
    Misconception(
        "features before positions",
        finished(lambda merged: merged.mT),
        "The heads are merged, but the last two axes are swapped: (B, d_model, L). Which comes "
        "last in a stream?",
        also=(lambda heads: heads.mT.flatten(1, 2),),
    ),
    Misconception(
        "other axes swapped",
        reshaped(0, 1, 3, 2),
        "The numbers are shuffled: other axes were swapped than heads and positions. Which two of "
        "the four must stand last before they become one?",
        also=tuple(
            reshaped(*order)
            for order in (
                (0, 3, 2, 1),
                (0, 3, 1, 2),
                (1, 0, 2, 3),
                (1, 2, 0, 3),
                (2, 0, 1, 3),
                (2, 1, 0, 3),
                (3, 1, 2, 0),
                (3, 2, 1, 0),
            )
        ),
    ),
    Misconception(
        "positions as the first axis",
        permuted(2, 0, 1, 3),
        "The positions come first and the sequences second. The batch stays the first axis.",
    ),
    Misconception(
        "heads in the wrong order",
        lambda heads: build()(heads.flip(1)),
        "The heads lie side by side, but in another order. Which one comes first?",
        also=(lambda heads: build()(heads.roll(1, 1)), lambda heads: build()(heads.roll(-1, 1))),
    ),
    Misconception(
        "features in the wrong order",
        lambda heads: build()(heads.flip(-1)),
        "The features or the positions are in another order than they came in. What turned them "
        "round?",
        also=(finished(lambda merged: merged.flip(-1)), finished(lambda merged: merged.flip(1))),
    ),
    Misconception(
        "axes of size 1 dropped",
        finished(lambda merged: merged.squeeze()),
        "An axis of size 1 is gone: one sequence, one position or one feature still has its axis. "
        "What removes axes without being asked which?",
        also=(
            finished(lambda merged: merged.squeeze(0)),
            finished(lambda merged: merged.squeeze(1)),
            finished(lambda merged: merged.squeeze(-1)),
        ),
    ),
    Misconception(
        "a tuple of heads",
        lambda heads: heads.unbind(1),
        "The heads come as separate tensors. One tensor is asked for, with all heads side by side "
        "in its last axis.",
    ),
    Misconception(
        "the numbers changed",
        finished(lambda merged: merged / merged.shape[-1] ** 0.5),
        "The numbers themselves are not those of the heads. Merging only moves them: what else "
        "happened on the way?",
        also=(
            lambda heads: build()(heads) / heads.shape[1],
            lambda heads: build()(heads) / heads.shape[1] ** 0.5,
            lambda heads: build()(heads) / heads.shape[-1] ** 0.5,
            finished(lambda merged: merged.softmax(-1)),
            finished(lambda merged: merged - merged.mean(-1, keepdim=True)),
        ),
    ),
    Misconception(
        "cut off from the gradient",
        finished(lambda merged: merged.detach()),
        "The values are right, but no gradient can flow back to the heads. What cuts the thread: "
        "`.detach()`, `.data`, numpy, or a fresh tensor made of numbers?",
    ),
)
