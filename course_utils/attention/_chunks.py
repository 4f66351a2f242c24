"""Walk along a sequence in pieces, at a cost that grows with its length and no faster."""

from collections.abc import Iterable
from itertools import chain

import torch
from torch import Tensor

ROWS = 64  # a piece that stays in the processor's cache, and is worth the call


def pieces(rows: int, *sequences: Tensor) -> Iterable[tuple[Tensor, ...]]:
    """Return the sequences (..., length, width) so many rows at a time, together.

    One `split` for all pieces: the gradient of a slice is as long as the whole sequence, and so
    many of those would cost length² in the backward pass.
    """
    return zip(*(sequence.split(rows, dim=-2) for sequence in sequences), strict=True)


def windows(x: Tensor, size: int, step: int) -> tuple[Tensor, ...]:
    """Return views of `size` rows each, every one `step` rows after the last, overlapping."""
    return x.unfold(-2, size, step).mT.unbind(-3)


def joined(parts: Iterable[Tensor], length: int, *sources: Tensor) -> Tensor:
    """Return the parts (..., rows, width), made from the sources, one below the other.

    Without gradients each part goes to its place as soon as it is there, so that the output is held
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
