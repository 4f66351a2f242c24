"""Local-p attention with exchangeable parts: a mistake exchanges one of them."""

from typing import Any

import torch
from torch import Tensor

from course_utils.attention import stable_softmax
from course_utils.checking.exercise import Function


def places(scores: Tensor) -> Tensor:
    """Return the position of each key."""
    return torch.arange(scores.shape[-1], dtype=scores.dtype)


def spread(scores: Tensor, centre: Tensor) -> Tensor:
    """Return how far each key lies from each query's centre."""
    return places(scores) - centre.unsqueeze(-1)


def gauss(far: Tensor, sigma: float) -> Tensor:
    """Return the factor that fades with the distance."""
    return torch.exp(-far.square() / (2 * sigma**2))


def build(
    aim: Any = lambda centre, scores: centre,
    far: Any = spread,
    fade: Any = gauss,
    join: Any = lambda scores, factor: stable_softmax(scores) * factor,
    finish: Any = lambda weights: weights,
) -> Function:
    """Return local-p attention with some of its parts exchanged.

    Args:
        aim: What happens to the centre first.
        far: The table of distances.
        fade: The factor, from distances and sigma.
        join: The weights, from scores and factor.
        finish: What happens to the weights last.
    """

    def wrong(scores: Tensor, centre: Tensor, sigma: float) -> Any:
        return finish(join(scores, fade(far(scores, aim(centre, scores)), sigma)))

    return wrong
