"""Rings, as Python and the stepper must agree on them."""

import itertools
from typing import Any

import torch

from course_utils.distributed import (
    communication_bytes,
    contiguous_split,
    ring_schedule,
    ring_work,
    striped_split,
    zigzag_split,
)

SPLITS = {"contiguous": contiguous_split, "striped": striped_split, "zigzag": zigzag_split}


def sent(scheme: Any, world_size: int, num_tokens: int, sizes: tuple[int, int, int]) -> list[int]:
    """Count what a rank sends forward and backward, as many key/value heads as query heads."""
    heads, d_k, size = sizes
    return [
        communication_bytes(
            scheme, world_size, 1, num_tokens, heads, heads, d_k, size, backward=backward
        )
        for backward in (False, True)
    ]


def work(layout: str, num_tokens: int, world_size: int, is_causal: bool) -> torch.Tensor:
    """Count the pairs by rank and step; without a mask every rank multiplies whole blocks."""
    positions = SPLITS[layout](num_tokens, world_size)
    if is_causal:
        return ring_work(positions)
    return torch.full((world_size, world_size), positions.shape[1] ** 2)


def cases() -> list[dict[str, Any]]:
    """One to eight ranks in every layout, causal and not."""
    made = []
    for (world_size, share), layout, is_causal in itertools.product(
        [(1, 6), (2, 2), (3, 4), (4, 8), (5, 2), (8, 6)], SPLITS, (False, True)
    ):
        num_tokens, sizes = world_size * share, (40, 8, 2)
        made.append({
            "world_size": world_size, "num_tokens": num_tokens, "layout": layout,
            "is_causal": is_causal, "sizes": sizes,
            "positions": SPLITS[layout](num_tokens, world_size).tolist(),
            "holds": [ring_schedule(world_size, rank) for rank in range(world_size)],
            "work": work(layout, num_tokens, world_size, is_causal).tolist(),
            "ring": sent("ring", world_size, num_tokens, sizes),
            "ulysses": sent("ulysses", world_size, num_tokens, sizes)
            if sizes[0] % world_size == 0 else None,
        })  # fmt: skip
    return made
