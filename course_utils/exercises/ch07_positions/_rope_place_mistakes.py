"""What goes wrong with the positions in RoPE: which one a token has."""

from collections.abc import Callable

import torch
from torch import Tensor

from course_utils.checking.exercise import Misconception
from course_utils.exercises.ch07_positions._rope_wrong import build, given

Place = Callable[[Tensor, Tensor], Tensor]


def _per_head(x: Tensor, positions: Tensor) -> Tensor:
    """Read the rows of positions as those of the heads."""
    return positions


def place_mistakes(pairing: str) -> tuple[Misconception, ...]:
    """Return mistakes in which position a token has."""

    def at(name: str, says: str, place: Place, *also: Place) -> Misconception:
        versions = tuple(build(pairing, place=version) for version in also)
        return Misconception(name, build(pairing, place=place), says, also=versions)

    return (
        at(
            "positions ignored",
            "The tokens are turned as if they stood at 0, 1, 2, ..., whatever `positions` says. A "
            "decoder that goes on after a cache hands over its true positions there.",
            lambda x, p: torch.arange(x.shape[-2]),
        ),
        at(
            "positions counted along another axis",
            "All tokens of a sequence are turned alike: the angles run along the heads or the "
            "batch. Which axis of (B, H, L, d_k) holds the tokens?",
            lambda x, p: torch.arange(x.shape[1]).view(1, -1, 1),
            lambda x, p: torch.arange(x.shape[0]).view(-1, 1, 1),
            lambda x, p: p.unsqueeze(-1) if p.dim() == 1 else given(x, p),
            lambda x, p: p.view(-1, 1, 1) if p.dim() == 1 else given(x, p),
        ),
        at(
            "positions from 1",
            "Every token is turned as if it stood one place further on. Positions are given: is "
            "anything to be added to them?",
            lambda x, p: given(x, p) + 1,
            lambda x, p: given(x, p) - 1,
        ),
        at(
            "positions counted from the first token",
            "The first token is never turned, wherever it stands: its position was taken away from "
            "all. After a cache it is not 0.",
            lambda x, p: given(x, p - p[..., :1]),
            lambda x, p: given(x, p - p.amin(-1, keepdim=True)),
        ),
        at(
            "positions of the first sequence for all",
            "All sequences are turned by the positions of one. With shape (B, L) each has its own.",
            lambda x, p: p[0] if p.dim() == 2 else p,
            lambda x, p: p[-1] if p.dim() == 2 else p,
        ),
        at(
            "a row of positions for each head instead of each sequence",
            "With positions (B, L) the rows meet the heads, not the sequences. Where must an axis "
            "of size 1 stand so that (B, L, d_k/2) fits (B, H, L, d_k/2)?",
            _per_head,
        ),
        at(
            "positions transposed",
            "Token l of sequence b gets the position of token b of sequence l.",
            lambda x, p: (
                given(x, p.mT) if p.dim() == 2 and p.shape[0] == p.shape[1] else given(x, p)
            ),
        ),
        at(
            "real positions cut to whole numbers",
            "Positions need not be whole: interpolation makes 0.25 of 1. Where are they cut?",
            lambda x, p: given(x, p.long()),
            lambda x, p: given(x, p.double().round()),
            lambda x, p: given(x, p.double().floor()),
            lambda x, p: given(x, p.double().ceil()),
        ),
        at(
            "the sign of positions lost",
            "Negative positions are turned as if they were positive, or as if they were 0.",
            lambda x, p: given(x, p.abs()),
            lambda x, p: given(x, p.clamp(min=0)),
        ),
        at(
            "positions put in order",
            "The positions were sorted, so tokens exchange their places. They come in any order.",
            lambda x, p: given(x, p.sort(-1).values),
            lambda x, p: given(x, p.flip(-1)),
        ),
        at(
            "positions as a share of the length",
            "The angles shrink with the length of the sequence: positions were divided by it, or "
            "by the largest of them.",
            lambda x, p: given(x, p) / x.shape[-2],
            lambda x, p: given(x, p) / p.max().clamp(min=1),
        ),
    )
