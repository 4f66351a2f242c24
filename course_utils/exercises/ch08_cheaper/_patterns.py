"""Masks made by a rule, as the mistakes in sparse patterns are."""

from collections.abc import Callable

import torch
from torch import Tensor

from course_utils.checking.exercise import Function, Misconception
from course_utils.exercises.ch06_masks._mask_kinds import wrong_axes


def _by(rule: Callable[..., Tensor]) -> Function:
    """Return a mask made by a rule for the query's place, the key's place and the numbers."""

    def wrong(num_positions: int, *numbers: int) -> Tensor:
        place = torch.arange(num_positions)
        full = torch.ones(num_positions, num_positions, dtype=torch.bool)
        return rule(place.unsqueeze(-1), place, *numbers) & full

    return wrong


def mistake(name: str, says: str, *rules: Callable[..., Tensor]) -> Misconception:
    """Return the mistake whose versions are masks made by these rules."""
    first, *rest = (_by(rule) for rule in rules)
    return Misconception(name, first, says, also=tuple(rest))


def axes_mistake(right: Function) -> Misconception:
    """Return the mistake that the right values stand along other axes."""
    return wrong_axes(
        right,
        "The values are right, but there are other axes than (L, L). Broadcasting adds axes for "
        "batch and heads when they are needed. What does this mask depend on?",
        lambda mask: mask[None, None],
        lambda mask: mask[None],
        torch.flatten,
    )
