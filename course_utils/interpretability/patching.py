"""Find where a run carries what another lacks, by putting states of the one into the other.

Source: Meng et al. 2022, Locating and Editing Factual Associations in GPT, section 2,
    https://arxiv.org/abs/2202.05262; Zhang and Nanda 2024, Towards Best Practices of Activation
    Patching in Language Models, https://arxiv.org/abs/2309.16042
"""

from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from course_utils.validation import check_callable, check_float, check_integers

Run = Callable[..., tuple[float, Tensor]]


def patch_grid(
    run: Run, clean: Int[Tensor, " L"], corrupt: Int[Tensor, " L"]
) -> Float[Tensor, "n L"]:
    """Return how much of the clean value each clean state restores in the corrupt run.

    1 is all of it, and 0 none. Zeros where both runs have the same value.

    Args:
        run: `run(tokens, layer=None, position=None, state=None)` returns a number and the states
            (n, L, d) after each layer; a given state replaces that after `layer` at `position`
            before the next layer reads it.
        clean: Tokens of the run that has what is looked for.
        corrupt: As many tokens of the run that lacks it.
    """
    check_callable(run=run)
    check_integers("L", clean=clean, corrupt=corrupt)
    if clean.shape != corrupt.shape:
        raise ValueError(
            f"clean and corrupt must be equally long, got {len(clean)} and {len(corrupt)} tokens"
        )
    (best, states), (worst, _) = _ran(run, clean), _ran(run, corrupt)
    grid = states.new_zeros(states.shape[:2])
    if best == worst:
        return grid
    for layer in range(states.shape[0]):
        for position in range(states.shape[1]):
            value, _ = run(corrupt, layer=layer, position=position, state=states[layer, position])
            grid[layer, position] = (value - worst) / (best - worst)
    return grid


@torch.no_grad()
def _ran(run: Run, tokens: Tensor) -> tuple[Any, Tensor]:
    value, states = run(tokens)
    check_float("n L d", states=states)
    if states.shape[1] != len(tokens):
        raise ValueError(
            f"run must return states at {len(tokens)} positions, got shape {tuple(states.shape)}"
        )
    return value, states.detach().clone()
