"""Compare two results of an experiment up to rounding and describe the difference."""

import math
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

# Relative to the largest number of a result. An experiment adds up the rounding of many steps.
_ROUNDING = {torch.float64: 1e-8, torch.float32: 1e-4, torch.bfloat16: 3e-2, torch.float16: 4e-3}


def difference(
    expected: Any, got: Any, tolerance: float | None = None, where: str = "result"
) -> str:
    """Return a sentence that says how two results differ, empty where they are the same.

    Tensors and floats are compared up to the rounding of the coarser dtype, a Python float as if it
    came from float32; everything else exactly, dicts by key, lists and tuples in order.

    Args:
        expected: The course's result.
        got: The learner's.
        tolerance: A relative difference to use instead of the dtypes' own.
        where: Where in the results these values are.
    """
    the = f"`{where}`"
    if isinstance(expected, Tensor) and isinstance(got, Tensor):
        return _tensors(expected, got, tolerance, where)
    if isinstance(expected, Mapping) and isinstance(got, Mapping):
        if set(expected) != set(got):
            return f"{the} has the keys {list(got)}, not {list(expected)}."
        said = (
            difference(one, got[key], tolerance, f"{where}[{key!r}]")
            for key, one in expected.items()
        )
        return next(filter(None, said), "")
    if isinstance(expected, list | tuple) and isinstance(got, list | tuple):
        if len(expected) != len(got):
            return f"{the} has {len(got)} entries, not {len(expected)}."
        pairs = enumerate(zip(expected, got, strict=True))
        said = (difference(one, two, tolerance, f"{where}[{i}]") for i, (one, two) in pairs)
        return next(filter(None, said), "")
    numbers = isinstance(expected, int | float) and isinstance(got, int | float)
    if numbers and isinstance(expected, float) | isinstance(got, float):
        allowed = _ROUNDING[torch.float32] if tolerance is None else tolerance
        same = math.isclose(expected, got, rel_tol=allowed, abs_tol=allowed * 1e-2)
        if same or (math.isnan(expected) and math.isnan(got)):
            return ""
        return f"{the} is {_apart(got, expected)}."
    if isinstance(expected, Tensor) or isinstance(got, Tensor):
        return f"{the} is a {type(got).__name__}, not a {type(expected).__name__}."
    return "" if expected == got else f"{the} is {_short(got)}, not {_short(expected)}."


def _tensors(expected: Tensor, got: Tensor, tolerance: float | None, where: str) -> str:
    if expected.shape != got.shape:
        return f"`{where}` has the shape {tuple(got.shape)}, not {tuple(expected.shape)}."
    if not expected.numel():
        return ""
    expected, got = expected.detach(), got.detach()
    if expected.is_floating_point() and got.is_floating_point():
        allowed = tolerance
        if allowed is None:
            allowed = max(_ROUNDING.get(one.dtype, 1e-4) for one in (expected, got))
        one, two = expected.double(), got.double()
        finite = one.isfinite()
        size = float(one[finite].abs().max()) if finite.any() else 1.0
        near = allowed * max(size, allowed)  # all zeros has no size
        wrong = ~torch.isclose(two, one, rtol=allowed, atol=near, equal_nan=True)
    else:
        one, two, wrong = expected, got, expected != got
    count = int(wrong.sum())
    if not count:
        return ""
    gap = (two.double() - one.double()).abs().nan_to_num(torch.inf).masked_fill(~wrong, -1.0)
    index = tuple(int(i) for i in torch.unravel_index(gap.argmax(), gap.shape))
    at = f"[{', '.join(map(str, index))}]" if index else ""
    there = f"`{where}{at}` is {_apart(two[index].item(), one[index].item())}"
    return f"{there}; {count} of {wrong.numel()} numbers differ." if index else f"{there}."


def _apart(got: float, expected: float) -> str:
    """Return two numbers with as many digits as are needed to tell them apart."""
    said = [f"{got:.{digits}g}, not {expected:.{digits}g}" for digits in (6, 10, 17)]
    return next((text for text in said if len(set(text.split(", not "))) > 1), said[-1])


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) < 120 else f"{text[:117]}..."
