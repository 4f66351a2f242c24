"""Heads left out, with exchangeable steps: a mistake exchanges one of them."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from course_utils.attention import merge_heads
from course_utils.checking.exercise import Function


def silence(heads: Tensor, keep: Tensor) -> Tensor:
    """Set the heads that are not kept to zero, as it should be done."""
    return heads * keep[:, None, None]


def build(
    silence: Callable[[Tensor, Tensor], Tensor] = silence,
    merge: Callable[[Tensor, Tensor], Tensor] = lambda heads, keep: merge_heads(heads),
    project: Callable[[Tensor, Tensor], Tensor] = lambda merged, matrix: merged @ matrix,
    finish: Callable[[Tensor, Tensor], Tensor] = lambda out, keep: out,
    finish_all: Callable[[Tensor, Tensor], Tensor] | None = None,
) -> Function:
    """Return the ablation with some of its steps exchanged.

    Args:
        silence: What `keep` does to the heads.
        merge: How the heads come side by side.
        project: What W_o does to them.
        finish: What `keep` does to the output.
        finish_all: What is made of the output and of the one with all heads.
    """

    def wrong(head_outputs: Tensor, W_o: Tensor, keep: Tensor) -> Any:
        out = project(merge(silence(head_outputs, keep), keep), W_o)
        if finish_all is not None:
            return finish_all(out, project(merge(head_outputs, keep), W_o))
        return finish(out, keep)

    return wrong


def with_matrix(change: Callable[[Tensor, Tensor], Tensor]) -> Function:
    """Return an ablation that changes W_o instead of the heads."""

    def wrong(head_outputs: Tensor, W_o: Tensor, keep: Tensor) -> Tensor:
        return merge_heads(head_outputs) @ change(W_o, keep)

    return wrong


def per_channel(keep: Tensor, out: Tensor) -> Tensor:
    """Spread one entry a head over the channels of an output."""
    return keep.repeat_interleave(out.shape[-1] // len(keep))


def columns_of(matrix: Tensor, keep: Tensor) -> Tensor:
    """Set one column a silent head to zero."""
    wide = torch.ones(matrix.shape[1], dtype=torch.bool)
    wide[: len(keep)] = keep
    return matrix * wide


def rows_of(matrix: Tensor, keep: Tensor, rows: Callable[[int, int], slice]) -> Tensor:
    """Set the rows `rows(h, d_k)` of each silent head h to zero."""
    wide = torch.ones(len(matrix), 1, dtype=matrix.dtype)
    for h, kept in enumerate(keep.tolist()):
        if not kept:
            wide[rows(h, len(matrix) // len(keep))] = 0.0
    return matrix * wide


def kept_only(rows: Callable[[Tensor, int], Tensor], pad: bool = False) -> Function:
    """Return an ablation that cuts silent heads out and projects with `rows(W_o, how many)`."""

    def wrong(head_outputs: Tensor, W_o: Tensor, keep: Tensor) -> Tensor:
        merged = merge_heads(head_outputs[:, keep])
        if pad:
            missing = len(W_o) - merged.shape[-1]
            merged = torch.nn.functional.pad(merged, (0, missing))
        return merged @ rows(W_o, merged.shape[-1])

    return wrong


def fill_in_place(head_outputs: Tensor, W_o: Tensor, keep: Tensor) -> Tensor:
    """Write zeros into the given heads."""
    with torch.no_grad():
        head_outputs[:, ~keep] = 0.0
    return merge_heads(head_outputs) @ W_o


def first(keep: Tensor) -> Tensor:
    """Keep the first True alone."""
    return keep & (keep.cumsum(0) == 1)


def so_many(keep: Tensor) -> Tensor:
    """Keep as many heads, but from the front."""
    return torch.arange(len(keep)) < keep.sum()


def along(heads: Tensor, keep: Tensor, axis: int) -> Tensor:
    """Silence along an axis, as far as `keep` reaches."""
    shape = [1, 1, 1, 1]
    size = heads.shape[axis]
    wide = torch.ones(size, dtype=torch.bool)
    wide[: len(keep)] = keep[:size]
    shape[axis] = size
    return heads * wide.view(shape)


def repeated(keep: Tensor, out: Tensor) -> Tensor:
    """Spread the entries over the channels of an output, interleaved."""
    return keep.repeat(out.shape[-1] // len(keep))


def replaced(heads: Tensor, keep: Tensor, other: Tensor) -> Tensor:
    """Put something else in the place of silent heads."""
    return torch.where(keep[:, None, None], heads, other)
