"""Process a sequence in pieces, at a cost linear in its length."""

from collections.abc import Iterable
from itertools import chain

import torch
from torch import Tensor

ROWS = 64  # a piece that fits in the processor's cache and is worth the overhead of a call


def pieces(rows: int, *sequences: Tensor) -> Iterable[tuple[Tensor, ...]]:
    """Return the sequences (..., length, width) a few rows at a time, together.

    One `split` for all pieces: the gradient of a slice is as long as the whole sequence, and so
    many of those would cost length² in the backward pass.
    """
    return zip(*(sequence.split(rows, dim=-2) for sequence in sequences), strict=True)


def windows(x: Tensor, size: int, step: int) -> tuple[Tensor, ...]:
    """Return overlapping views of `size` rows, each starting `step` rows after the previous one."""
    return x.unfold(-2, size, step).mT.unbind(-3)


def joined(parts: Iterable[Tensor], length: int, *sources: Tensor) -> Tensor:
    """Return the parts (..., rows, width), made from the sources, concatenated along the rows.

    Without gradients each part is written in place as soon as it is ready, so the output is held
    once. Autograd would copy the whole gradient for every such write; it gets one concatenation.
    """
    if torch.is_grad_enabled() and any(source.requires_grad for source in sources):
        return torch.cat(list(parts), dim=-2)
    parts = iter(parts)
    first = next(parts)
    out, start = first.new_empty(*first.shape[:-2], length, first.shape[-1]), 0
    for part in chain((first,), parts):
        out[..., start : start + part.shape[-2], :] = part
        start += part.shape[-2]
    return out
