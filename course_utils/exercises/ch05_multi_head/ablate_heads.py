"""Exercise: what multi-head attention says without some of its heads."""

from typing import Any

import torch
from torch import Tensor

from course_utils.attention import ablate_heads
from course_utils.checking.exercise import Case, Exercise
from course_utils.checking.inputs import normal, strided
from course_utils.exercises.ch05_multi_head._ablate_mistakes import MISCONCEPTIONS


def _made(*shape: int, keep: str, dtype: str = "float64", size: float = 1.0) -> Any:
    """Return a maker of heads (B, H, L, d_k) and W_o; `keep` has a 1 for each head that is kept."""

    def make(g: torch.Generator) -> tuple[Tensor, Tensor, Tensor]:
        kind, d_model = getattr(torch, dtype), shape[1] * shape[3]
        kept = torch.tensor([mark == "1" for mark in keep])
        heads = normal(g, *shape, dtype=kind, size=size)
        return heads, normal(g, d_model, d_model, dtype=kind), kept

    return make


def _strided(g: torch.Generator) -> tuple[Tensor, Tensor, Tensor]:
    heads, W_o, keep = _made(3, 2, 5, 4, keep="01")(g)
    return strided(heads), strided(W_o), keep


def _split(g: torch.Generator) -> tuple[Tensor, Tensor, Tensor]:
    """Lay the heads in memory as a split leaves them: position by position."""
    heads, W_o, keep = _made(2, 3, 5, 4, keep="101")(g)
    return heads.transpose(1, 2).contiguous().transpose(1, 2), W_o, keep


EXERCISE = Exercise(
    name="ablate_heads",
    chapter=5,
    signature="ablate_heads(head_outputs, W_o, keep)",
    asks="Give the output of multi-head attention in which only the kept heads speak.",
    reference=ablate_heads,
    minutes=8,
    difficulty=2,
    importance=4,
    cases=(
        Case("4 heads, all kept", _made(2, 4, 3, 5, keep="1111"), gradient="equal"),
        Case("4 heads, one left out", _made(2, 4, 3, 5, keep="1011"), gradient="equal"),
        Case("5 heads, two kept", _made(3, 5, 4, 2, keep="01010")),
        Case("the last of 3 heads kept", _made(2, 3, 4, 5, keep="001")),
        Case("as many sequences and positions as heads", _made(3, 3, 3, 4, keep="011")),
        Case("as many features a head as heads", _made(2, 4, 5, 4, keep="0110")),
        Case("no head kept", _made(2, 3, 5, 4, keep="000")),
        Case("one head, kept", _made(2, 1, 3, 4, keep="1")),
        Case("one head, left out", _made(2, 1, 3, 4, keep="0")),
        Case("heads of width 1", _made(2, 4, 3, 1, keep="1001")),
        Case("one sequence, one position", _made(1, 3, 1, 4, keep="110")),
        Case("large numbers", _made(2, 3, 4, 5, keep="101", size=1e6)),
        Case("heads as a split leaves them in memory", _split),
        Case("inputs that do not lie in memory row by row", _strided, gradient="equal"),
        Case("float32", _made(2, 3, 5, 4, keep="011", dtype="float32")),
        Case("bfloat16", _made(2, 3, 5, 4, keep="110", dtype="bfloat16"), tolerance=0.2),
    ),
    misconceptions=MISCONCEPTIONS,
    hints=(
        "Silence the heads while they are still apart: after W_o every output channel holds "
        "something of all of them.",
        "`keep` has the shape (H,), the heads (B, H, L, d_k). Broadcasting lines shapes up from "
        "the right: how many axes of size 1 does `keep` need behind it?",
        "Either multiply or use `masked_fill`; it fills where its mask is True, so it wants the "
        "heads that do NOT speak.",
        "In order: silence, merge as in the exercise before, times W_o. Removing heads instead "
        "would move the others to rows of W_o that are not theirs.",
    ),
)
