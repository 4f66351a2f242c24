"""A law for functions that only move numbers: each must come from its own place."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from course_utils.checking.exercise import Function, Property


def each_number_in_its_place(reference: Function, source: str, result: str) -> Property:
    """Return the law that `reference`, which only moves numbers of its first argument, obeys."""
    return Property(f"each number of `{source}` comes to its own place", _law(reference, result))


def _law(reference: Function, result: str) -> Callable[[tuple[Any, ...], Any], str | None]:
    def broken(args: tuple[Any, ...], got: Tensor) -> str | None:
        given = args[0]
        numbered = torch.arange(given.numel(), dtype=torch.float64).view(given.shape)
        home = reference(numbered, *args[1:]).long()
        wrong = (got.detach() != given.flatten()[home]).nonzero()
        if not len(wrong):
            return None
        here = tuple(wrong[0].tolist())
        right = _unravel(int(home[here]), given)
        found = (given == got[here]).nonzero()
        if not len(found):
            return f"At {list(here)} of the {result} stands a number that the input does not hold."
        return (
            f"At {list(here)} of the {result} must stand the number at {right} of the input; "
            f"it is the one at {found[0].tolist()}."
        )

    return broken


def _unravel(number: int, tensor: Tensor) -> list[int]:
    return [int(i) for i in torch.unravel_index(torch.tensor(number), tensor.shape)]
