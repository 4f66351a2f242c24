"""Vectors turned by RoPE, as Python and the clock must agree on them."""

import itertools
from typing import Any

import torch

from course_utils.positions import rope_frequencies, rope_interleaved, rope_split_halves

ROTATIONS = {"interleaved": rope_interleaved, "split halves": rope_split_halves}


def cases() -> list[dict[str, Any]]:
    """Both pairings, several widths and bases, positions that do and do not start at 0."""
    generator = torch.Generator().manual_seed(7)
    made = []
    for pairing, width, base in itertools.product(ROTATIONS, (2, 6, 8), (1000.0, 10000.0)):
        query, key = torch.randn(2, 1, 1, 1, width, generator=generator, dtype=torch.float64)
        m, n = torch.randint(64, (2, 1), generator=generator)
        turned = [ROTATIONS[pairing](x, at, base)[0, 0, 0] for x, at in ((query, m), (key, n))]
        made.append({
            "pairing": pairing, "base": base, "query": query.flatten().tolist(),
            "key": key.flatten().tolist(), "query_position": m.item(), "key_position": n.item(),
            "frequencies": rope_frequencies(width, base).tolist(),
            "turned": [one.tolist() for one in turned], "score": (turned[0] @ turned[1]).item(),
        })  # fmt: skip
    return made
