"""One case of the exercise on leak tests: an attention, and what to say of a wrong verdict."""

from collections.abc import Callable

import torch

from course_utils.checking.exercise import Case
from course_utils.exercises.ch06_masks._attentions import Attention, Layer

Plan = Callable[[Layer], Attention]


def case(name: str, sizes: tuple[int, int, int], plan: Plan, says: str) -> Case:
    """Return the case that gives a test one attention.

    Args:
        name: What is special about the attention.
        sizes: The number of positions, d_model and d_v.
        plan: Makes the attention from a layer of these sizes.
        says: What to say to a test that judges it wrongly.
    """

    def make(g: torch.Generator) -> tuple[Attention, int, int]:
        layer = Layer(*sizes, g)
        return layer.strict(plan(layer)), layer.n, layer.d

    return Case(name, make, says=says)
