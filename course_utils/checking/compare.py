"""Compare two results, and say in words how one differs from the other."""

import math
import numbers
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

# Relative rounding forgiven by default: torch.testing's own for 32 and 64 bits; for 16 bits room
# for a sum whose every step is rounded, since a loop is as right as a matrix product.
_ROUNDING = {torch.float64: 1e-7, torch.float32: 1e-5, torch.float16: 0.02, torch.bfloat16: 0.1}


def kind_problem(
    got: Any, want: Any, name: str = "the result", parts: Sequence[str] = ()
) -> tuple[str, str] | None:
    """Return (status, what a learner reads) where `got` differs from `want` in kind or shape."""
    if isinstance(want, tuple):
        return _sequence_problem(got, want, parts)
    if isinstance(want, Tensor):
        return _tensor_problem(got, want, name)
    if isinstance(want, list) and isinstance(got, list | tuple):
        return None
    if isinstance(want, bool | int | float) and is_number(got, type(want)):
        return None
    if isinstance(got, type(want)) and not isinstance(want, bool | int | float):
        return None
    kind = type(want)
    extra = " Does `.item()` help?" if isinstance(got, Tensor) and got.numel() == 1 else ""
    return (
        "wrong_type",
        f"{_cap(name)} must be Python's `{kind.__name__}`, got {describe(got)}.{extra}",
    )


def is_number(value: Any, kind: type) -> bool:
    """Return whether a value is as good as Python's bool, int or float: numpy's are."""
    truth = isinstance(value, bool | np.bool_)
    if kind is bool:
        return truth
    return not truth and isinstance(value, numbers.Integral if kind is int else numbers.Real)


def _sequence_problem(
    got: Any, want: tuple[Any, ...], parts: Sequence[str]
) -> tuple[str, str] | None:
    names = _part_names(len(want), parts)
    listed = f" ({', '.join(names)})" if parts else ""
    kind = "tensors" if want and isinstance(want[0], Tensor) else "numbers"
    rule = f"The result must be a tuple of {len(want)} {kind}{listed}"
    if not isinstance(got, list | tuple):
        return "wrong_type", f"{rule}, got {describe(got)}."
    if len(got) != len(want):
        return "wrong_type", f"{rule}, got {len(got)} of them."
    for name, one, other in zip(names, got, want, strict=True):
        problem = kind_problem(one, other, name)
        if problem:
            return problem
    return None


def _part_names(count: int, parts: Sequence[str]) -> list[str]:
    return [f"`{part}`" for part in parts] or [f"result number {i + 1}" for i in range(count)]


def is_dense(part: Tensor) -> bool:
    """Return whether a tensor is an ordinary one: not sparse, nested or quantized."""
    return not part.is_nested and not part.is_quantized and part.layout == torch.strided


def _tensor_problem(got: Any, want: Tensor, name: str) -> tuple[str, str] | None:
    if not isinstance(got, Tensor):
        alone = isinstance(got, list | tuple) and any(isinstance(part, Tensor) for part in got)
        extra = " Return the one tensor alone." if alone else ""
        return "wrong_type", f"{_cap(name)} must be a torch.Tensor, got {describe(got)}.{extra}"
    if not is_dense(got) or got.device != want.device:
        return "wrong_type", (
            f"{_cap(name)} must be an ordinary dense tensor on the {want.device}, got another kind."
        )
    if got.shape != want.shape:
        return "wrong_shape", (
            f"{_cap(name)} must have the shape {tuple(want.shape)}, got {tuple(got.shape)}."
        )
    if got.dtype != want.dtype:
        return "wrong_type", f"{_cap(name)} must keep the dtype {want.dtype}, got {got.dtype}."
    return None


def describe(value: Any) -> str:
    """Name the kind of a value, briefly."""
    if value is None:
        return "None (is a `return` missing?)"
    if isinstance(value, Tensor) and value.is_nested:
        return "a nested tensor"
    if isinstance(value, Tensor):
        return f"a tensor of shape {tuple(value.shape)} and dtype {value.dtype}"
    kind = type(value).__name__
    if isinstance(value, list | tuple):
        return f"a {kind} of {len(value)}"
    module = type(value).__module__
    article = "an" if kind[:1].lower() in "aeiou" else "a"
    return f"a {module}.{kind}" if module == "numpy" else f"{article} {kind}"


def equal(got: Any, want: Any, tolerance: float | None = None, absolute: float = 1e-9) -> bool:
    """Return whether two results are the same up to rounding; NaN equals NaN, and kinds count."""
    if kind_problem(got, want) is not None:
        return False
    if isinstance(want, tuple | list):
        return len(got) == len(want) and all(
            equal(one, other, tolerance, absolute) for one, other in zip(got, want, strict=True)
        )
    if isinstance(want, Tensor):
        return torch.equal(got, want) or not bool(wrong_entries(got, want, tolerance).any())
    if isinstance(want, float):
        return (math.isnan(got) and math.isnan(want)) or math.isclose(
            got, want, rel_tol=tolerance or 1e-7, abs_tol=absolute
        )
    if isinstance(want, np.ndarray):
        return np.array_equal(got, want)
    return bool(got == want)


def wrong_entries(got: Tensor, want: Tensor, tolerance: float | None = None) -> Tensor:
    """Mark the entries of a result that differ from what is wanted by more than rounding."""
    got, want = got.detach(), want.detach()
    if not want.is_floating_point():
        return got != want
    rounding = _ROUNDING.get(want.dtype, 1e-5) if tolerance is None else tolerance
    got, want = got.double(), want.double()
    # Relative to the row's size too: a small result of a large sum is all rounding.
    finite = want.abs().nan_to_num(posinf=0.0, neginf=0.0)
    size = finite.amax(dim=-1, keepdim=True) if want.dim() and want.shape[-1] else finite
    close = (got - want).abs() <= rounding * torch.maximum(finite, 0.1 * size + 1e-6)
    return ~(close | (got == want) | (got.isnan() & want.isnan()))


class Totals(NamedTuple):
    """A tensor summarised in a few numbers, enough to tell most tensors apart."""

    sum: float
    size: float
    numbers: int
    rounding: float


def totals(part: Tensor) -> Totals | None:
    """Return a tensor's totals; None where they say nothing."""
    if not is_dense(part) or part.device.type != "cpu" or part.numel() == 0 or part.is_complex():
        return None
    numbers = part.detach().double()
    total, size = numbers.sum().item(), numbers.abs().max().item()
    rounding = _ROUNDING.get(part.dtype, 1e-5) if part.is_floating_point() else 0.0
    return Totals(total, size, part.numel(), rounding) if math.isfinite(total) else None


def sums_differ(got: Totals | None, want: Totals | None, tolerance: float | None = None) -> bool:
    """Return whether the sums of two tensors alone show that they are not `equal`."""
    if got is None or want is None:
        return False
    rounding = want.rounding if tolerance is None else tolerance
    room = 2 * rounding * want.numbers * (want.size + 1e-6)  # each entry may be off by half of it
    return abs(got.sum - want.sum) > room


def first_difference(
    got: Any, want: Any, tolerance: float | None = None, parts: Sequence[str] = ()
) -> str:
    """Say where two results of the same kind differ first, with both values."""
    if isinstance(want, tuple):
        names = _part_names(len(want), parts)
        for name, one, other in zip(names, got, want, strict=True):
            if not equal(one, other, tolerance):
                return f"In {name}: {first_difference(one, other, tolerance)}"
    if not isinstance(want, Tensor):
        return "Expected {}, got {}.".format(*_show(want, got))
    wrong = wrong_entries(got, want, tolerance)
    index = tuple(int(i) for i in wrong.nonzero()[0])
    where = f"index [{', '.join(map(str, index))}]" if index else "the single value"
    shown = _show(want[index].item(), got[index].item())
    text = (
        f"{int(wrong.sum())} of {wrong.numel()} values differ, the first at {where}: "
        f"expected {shown[0]}, got {shown[1]}."
    )
    relation = _relation(got.detach(), want.detach(), tolerance)
    return f"{text} {relation}" if relation else text


def _relation(got: Tensor, want: Tensor, tolerance: float | None) -> str:
    """Name a simple relation between all values of two tensors, if there is one."""
    if not want.is_floating_point() or not bool(got.isfinite().all()):
        return ""
    if want.dtype == torch.float64 and equal(got, want, 1e-5):
        return "So small an error is float32's: was a part computed in lower precision?"
    if want.numel() < 2:
        return ""
    if equal(-got, want, tolerance):
        return "Every value has the wrong sign."
    where = want.abs() > 0.01 * want.abs().max()
    factor = (got[where] / want[where]).median() if bool(where.any()) else torch.tensor(0.0)
    if float(factor) and equal(got / factor, want, tolerance):
        return f"Every value is {float(factor):.4g} times what was expected."
    if equal(got - (got - want).median(), want, tolerance):
        return f"Every value is off by the same {float((got - want).median()):.4g}."
    if want.dim() >= 2 and want.shape[-1] == want.shape[-2] and equal(got.mT, want, tolerance):
        return "The last two axes are swapped."
    return ""


def _show(want: Any, got: Any) -> tuple[str, str]:
    """Write two numbers with as many digits as are needed to tell them apart."""
    if not isinstance(want, float) or not isinstance(got, float):
        return str(want), str(got)
    for digits in (5, 9, 17):
        shown = f"{want:.{digits}g}", f"{got:.{digits}g}"
        if shown[0] != shown[1]:
            break
    return shown


def _cap(text: str) -> str:
    return text[:1].upper() + text[1:]


def named_tensors(names: Sequence[str], args: Sequence[Any]) -> str:
    """List the shapes of the arguments: "query (2, 3, 5, 4), key (2, 3, 7, 4)"."""
    parts = []
    for name, arg in zip(names, args, strict=False):
        shown = str(tuple(arg.shape)) if isinstance(arg, Tensor) else type(arg).__name__
        if arg is None or isinstance(arg, bool | int | float):
            shown = str(arg)
        parts.append(f"{name} {shown}" if isinstance(arg, Tensor) else f"{name}={shown}")
    return ", ".join(parts)
