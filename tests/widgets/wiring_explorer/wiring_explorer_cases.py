"""Masks and reach that Python and the wiring explorer must agree on."""

from typing import Any

import torch
from torch import Tensor

USUAL = {
    "source": ["a", "b", "c", "d", "e"], "target": ["v", "w", "x", "y", "z"],
    "wiring": "t5", "pre_norm": True, "num_layers": 2, "num_source": 4, "num_target": 3,
    "pads": 1, "window": 0, "side": "target", "place": 1,
}  # fmt: skip
CHANGES: list[dict[str, Any]] = [
    *({"wiring": wiring} for wiring in ("bert", "gpt", "prefix", "t5", "stub")),
    *({"wiring": wiring, "window": 2, "pads": 0} for wiring in ("bert", "gpt", "prefix", "stub")),
    {"window": 2, "num_layers": 1, "side": "source", "place": 0},
    {"window": 1, "num_layers": 3},
    {"pads": 4},
    {"wiring": "gpt", "pads": 4, "num_layers": 6, "num_target": 5},
    {"num_source": 1, "num_target": 1, "pads": 0, "num_layers": 1},
]


def masks(view: dict[str, Any]) -> list[Tensor]:
    """The masks of a wiring: of its one stream, or of encoder, decoder and second attention."""
    S, T, window = view["num_source"], view["num_target"], view["window"]
    real = torch.arange(S) < S - view["pads"]
    if view["wiring"] in ("t5", "stub"):
        second = real.expand(T, S) if view["wiring"] == "t5" else torch.ones(T, T).bool()
        return [_near(S, window) & real, _near(T, window).tril(), second]
    both = _near(S + T, window) & torch.cat([real, torch.ones(T).bool()])
    if view["wiring"] == "bert":
        return [both]
    whole = (torch.arange(S + T) < S) & (view["wiring"] == "prefix")
    return [both & (torch.ones(S + T, S + T).bool().tril() | whole)]


def _near(size: int, window: int) -> Tensor:
    place = torch.arange(size)
    return (place[:, None] - place).abs() < (window or size)


def counts(view: dict[str, Any]) -> Tensor:
    """On how many paths each input reaches each output: products of whole numbers."""
    S, T, N = view["num_source"], view["num_target"], view["num_layers"]
    parts = [mask.long() for mask in masks(view)]
    paths = torch.eye(S + T).long()
    if len(parts) == 1:
        return torch.linalg.matrix_power(parts[0] + torch.eye(S + T).long().mul(1 - parts[0]), N)
    encoder, decoder, second = parts
    for _ in range(N):
        paths[:S] = (encoder | torch.eye(S).long()) @ paths[:S]
    memory = paths[:S]
    for _ in range(N):
        paths[S:] = (decoder | torch.eye(T).long()) @ paths[S:]
        if view["wiring"] == "t5":
            paths[S:] += second @ memory
        else:
            paths[S:] = second @ paths[S:]
    return paths


def cases() -> list[dict[str, Any]]:
    made = []
    for changes in CHANGES:
        view = USUAL | changes
        paths = counts(view)
        made.append(
            {
                "view": view,
                "masks": [mask.int().tolist() for mask in masks(view)],
                "paths": paths.tolist(),
            }
        )
    return made
