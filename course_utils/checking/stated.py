"""Describe what an exercise judges beyond plain values, in a line read from its cases.

A requirement that a right answer could break is stated there, or it is not judged.
"""

import math
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves

from course_utils.checking.exercise import Case, Exercise
from course_utils.checking.guard import call
from course_utils.checking.settings import judging

_SIZES = ("hundreds", "thousands", "tens of thousands", "hundreds of thousands", "millions")


def also_judged(exercise: Exercise) -> str:
    """Return what is judged besides plain values, as a clause; empty if nothing is."""
    with judging():
        calls = [_call(exercise, case, seed) for seed, case in enumerate(exercise.cases)]
    tensors = [x.detach() for args, _ in calls for x in args]
    floats = [x for x in tensors if x.is_floating_point()]
    costs = ", ".join(dict.fromkeys(cost.name for cost in exercise.costs))
    parts = (
        _gradients(exercise.cases),
        _dtypes(calls),
        "non-contiguous inputs" if any(not x.is_contiguous() for x in tensors) else "",
        _sizes(floats),
        "empty inputs" if any(x.numel() == 0 for x in tensors) else "",
        f"the cost ({costs})" if costs else "",
    )
    return "; ".join(filter(None, parts))


def _call(exercise: Exercise, case: Case, seed: int) -> tuple[list[Tensor], list[Tensor]]:
    """Return the tensors with which a case calls the function, and those that come back."""
    args = case.arguments(seed)
    if not exercise.callable_apart:
        return _tensors(args), []
    given: list[Any] = []
    made: list[Any] = []

    def reference(*args: Any, **named: Any) -> Any:
        given.extend((*args, *named.values()))
        made.append(exercise.reference(*args, **named))
        return made[-1]

    call(case.use(reference), args, watch=False)
    return _tensors(given), _tensors(made)


def _tensors(args: Iterable[Any]) -> list[Tensor]:
    return [leaf for leaf in tree_leaves(list(args)) if isinstance(leaf, Tensor)]


def _gradients(cases: Iterable[Case]) -> str:
    wanted = {case.gradient for case in cases}
    if "equal" in wanted:
        return "gradients"
    return "a gradient that is finite" if "finite" in wanted else ""


def _dtypes(calls: Iterable[tuple[list[Tensor], list[Tensor]]]) -> str:
    """Name the dtypes that come and go, and say whether what comes back has that of the input."""
    taken, made, kept = set[torch.dtype](), set[torch.dtype](), True
    for given, returned in calls:
        inner, outer = (
            [x.dtype for x in part if x.is_floating_point()] for part in (given, returned)
        )
        taken |= set(inner)
        made |= set(outer)
        kept = kept and set(outer) <= set(inner[:1])
    names = [str(one)[6:] for one in (torch.float64, torch.float32, torch.float16, torch.bfloat16)
             if one in (taken or made)]  # fmt: skip
    if not made or not names:
        return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]])) if names[1:] else ""
    if not taken:
        return f"a result in {names[0]}"
    if len(names) == 1:
        return f"{names[0]} kept" if kept else ""
    return f"{', '.join(names[:-1])} and {names[-1]}" + (", each kept" if kept else "")


def _sizes(floats: Iterable[Tensor]) -> str:
    finite = [x[x.isfinite()].abs() for x in floats]
    most = max((float(x.max()) for x in finite if x.numel()), default=0.0)
    if most < 100:
        return ""
    return f"large values ({_SIZES[min(int(math.log10(most)) - 2, len(_SIZES) - 1)]})"
