"""Numbers that Python and the widgets' JavaScript must agree on."""

from typing import Any

import matplotlib
import numpy as np
import torch

from course_utils.attention import softmax_jacobian, stable_softmax
from course_utils.matrix_plotting import WEIGHT_COLOURS


def score_rows() -> list[torch.Tensor]:
    """Easy rows, a single key, equal scores, scores that overflow, keys that may not be seen."""
    drawn = torch.randn(7, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    inf = float("inf")
    rows = [[0.0, 1.0, -2.0], [5.0], [2.0] * 4, [1e4, 9999.0, -1e4], [-inf, 1.0, 0.5], [-inf, -inf]]
    return [*(torch.tensor(row, dtype=torch.float64) for row in rows), drawn, 30 * drawn]


def softmax_case(scores: torch.Tensor) -> dict[str, Any]:
    weights = stable_softmax(scores)
    return {
        "scores": scores.tolist(),
        "weights": weights.tolist(),
        "entropy": float(torch.special.entr(weights).sum()),
        "gradient": float(torch.linalg.matrix_norm(softmax_jacobian(weights))),
    }


def mulberry32(seed: int, count: int) -> list[float]:
    """The generator of the explorer, in Python's unbounded integers."""
    mask, state, out = 0xFFFFFFFF, seed, []
    for _ in range(count):
        state = (state + 0x6D2B79F5) & mask
        t = ((state ^ (state >> 15)) * (state | 1)) & mask
        t ^= (t + ((t ^ (t >> 7)) * (t | 61) & mask)) & mask
        out.append((t ^ (t >> 14)) / 2**32)
    return out


def half_case(bits: int) -> list[Any]:
    return [bits, float(np.array(bits, dtype=np.uint16).view(np.float16))]


def colour_case(name: str, t: float) -> list[Any]:
    return [t, [round(255 * part) for part in matplotlib.colormaps[name](t)[:3]]]


def pair_case() -> dict[str, Any]:
    """Two maps of weights, and the mean over the queries of their total variation distance."""
    first = np.array([[0.5, 0.25, 0.25], [1, 0, 0], [0, 0, 0], [0.125, 0.125, 0.75]])
    second = np.array([[0.25, 0.5, 0.25], [0, 0, 1], [0, 0, 0], [0.125, 0.125, 0.75]])
    apart = second - first
    return {
        "first": first.ravel().tolist(),
        "second": second.ravel().tolist(),
        "columns": first.shape[1],
        "difference": apart.ravel().tolist(),
        "moved": float(np.abs(apart).sum(axis=1).mean() / 2),
    }


def cases() -> dict[str, Any]:
    values = torch.tensor([0.5, -3.25, 8.0, 1e-3, 2.0], dtype=torch.float64)
    halves = (0, 0x8000, 1, 0x3FF, 0x400, 0x3C00, 0x3555, 0xC248, 0x7BFF, 0x7C00, 0xFC00, 0x7E00)
    return {
        "softmax": [softmax_case(scores) for scores in score_rows()],
        "variance": {"values": values.tolist(), "variance": float(values.var(correction=0))},
        "uniform": [{"seed": s, "numbers": mulberry32(s, 6)} for s in (0, 1, 12, 2**31 - 1)],
        "half": [half_case(bits) for bits in halves],
        "cividis": [colour_case(WEIGHT_COLOURS, i / 255) for i in range(256)],
        "puor": [colour_case("PuOr", i / 255) for i in range(0, 256, 5)],
        "pair": pair_case(),
    }
