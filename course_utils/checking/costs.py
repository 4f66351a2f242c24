"""Judge what an answer costs by how its counts grow between two sizes, and never by a clock."""

import importlib
import math
from collections.abc import Callable
from typing import Any

import torch

from course_utils.checking.exercise import Cost
from course_utils.checking.guard import call


def count_cost(cost: Cost, fn: Callable[..., Any]) -> tuple[int, int] | None:
    """Return the counts at both sizes, or None where the call fails."""
    # Torch loads this with the first mode that watches operations. It takes seconds, which must not
    # count for the answer, and a module that was stopped halfway would stay broken.
    importlib.import_module("torch._dynamo")
    counts = []
    for size in cost.sizes:
        args = cost.make(size, torch.Generator().manual_seed(size))
        outcome = call(lambda *given: cost.count(fn, *given), args, watch=False)
        if outcome.kind != "returned":
            return None
        counts.append(int(outcome.value))
    return counts[0], counts[1]


def cost_problem(cost: Cost, counts: tuple[int, int] | None) -> str | None:
    """Return a sentence if these counts grow faster than allowed, or None."""
    small, large = cost.sizes
    if counts is None:
        return f"The values are right, but at size {large} the call failed or did not end."
    grows = math.log(max(counts[1], 1) / max(counts[0], 1)) / math.log(large / small)
    if grows <= cost.exponent:
        return None
    return (
        f"The values are right, but {cost.name} grows from {counts[0]:,} at size {small} to "
        f"{counts[1]:,} at size {large}: as the size to the power {grows:.2f}, where "
        f"{cost.exponent:g} is allowed. {cost.says}"
    )
