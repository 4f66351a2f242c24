"""Distances that an output moves without some heads: the head grid's JavaScript must agree."""

import itertools
from typing import Any

import torch

from course_utils.attention import ablate_heads

HEADS, QUERIES, WIDTH, OUT = 3, 4, 2, 5


def cases() -> dict[str, Any]:
    """Every choice of heads to leave out, and each position's change, by `ablate_heads`."""
    generator = torch.Generator().manual_seed(5)
    outputs = torch.randn(1, HEADS, QUERIES, WIDTH, generator=generator).double()
    outputs[0, :, 1] = 0.0  # a position to which no head adds anything
    w_o = torch.randn(HEADS * WIDTH, OUT, generator=generator).double()
    alone = torch.eye(HEADS, dtype=torch.bool)
    parts = torch.cat([ablate_heads(outputs, w_o, keep) for keep in alone])
    whole = ablate_heads(outputs, w_o, alone.any(dim=0))
    made = []
    for off in itertools.product((False, True), repeat=HEADS):
        moved = whole - ablate_heads(outputs, w_o, ~torch.tensor(off))
        share = moved.norm(dim=-1) / whole.norm(dim=-1).clamp(min=1e-30)
        made.append({"off": [h for h in range(HEADS) if off[h]], "shares": share[0].tolist()})
    return {"shape": list(parts.shape), "parts": parts.flatten().tolist(), "moves": made}
