"""Walks, energies and valleys that Python and the landscape's JavaScript must agree on."""

from typing import Any

import torch

from course_utils.attention import hopfield_energy, hopfield_update
from course_utils.widgets.hopfield_landscape.hopfield_landscape import circle

UPDATES = 6


def walk(start: list[float], patterns: list[Any], beta: float) -> list[dict[str, Any]]:
    """Every state from the start on, with the weights of its next step and its energy."""
    stored, state = (torch.tensor(one, dtype=torch.float64) for one in (patterns, start))
    steps = []
    for _ in range(UPDATES + 1):
        weights = torch.softmax(beta * (stored @ state), dim=0)
        energy = hopfield_energy(state, stored, beta)
        steps.append(
            {"state": state.tolist(), "weights": weights.tolist(), "energy": energy.item()}
        )
        state = hopfield_update(state, stored, beta)
    return steps


def valleys(patterns: list[Any], beta: float) -> int:
    """Count the places where states end that start beside a pattern."""
    stored = torch.tensor(patterns, dtype=torch.float64)
    states = stored + torch.tensor([0.001, 0.002], dtype=torch.float64)
    before = torch.full_like(states, torch.inf)
    while not torch.allclose(states, before, rtol=0, atol=1e-13):
        before, states = states, hopfield_update(states, stored, beta)
    near = torch.cdist(states, states) < 0.05
    return int((near.int().argmax(dim=1) == torch.arange(len(stored))).sum())


def cases() -> list[dict[str, Any]]:
    """A circle and other places, one valley and many, a ridge, scores that would overflow."""
    six = [list(place) for place in circle()]
    line = [[-1.0, 0.0], [0.0, 0.0], [1.0, 0.0]]
    odd = [[1.5, 0.2], [1.2, 0.6], [-0.4, -1.8], [0.1, 0.1]]
    made = []
    for patterns, start in ((six[:3], [0.3, 0.4]), (six, [-0.7, 0.1]), (line, [0.0, 0.5]),
                            (odd, [0.2, -0.3]), ([[2.0, -2.0]], [-2.0, 2.0])):  # fmt: skip
        for beta in (0.1, 0.5, 2.0, 10.0, 100.0):
            made.append({"patterns": patterns, "beta": beta, "valleys": valleys(patterns, beta)})
            made[-1]["walk"] = walk(start, patterns, beta)
    return made
