"""Compare an answer's gradients with the reference's."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves

from course_utils.checking.compare import equal, first_difference
from course_utils.checking.errors import brief, explained
from course_utils.checking.exercise import Case, Exercise
from course_utils.checking.guard import Outcome, call

DETACHED = "detached"
_grad = torch.autograd.grad


def observe_gradient(
    fn: Callable[..., Any], case: Case, seed: int, seconds: float
) -> tuple[Outcome, tuple[Any, ...]]:
    """Return the gradients that reach each float argument from a fixed random loss."""
    args = case.arguments(seed)

    def run(*given: Any) -> Any:
        leaves = [g.requires_grad_() for g in given if _is_float(g)]
        outs = [out for out in tree_leaves(case.use(fn)(*given)) if _is_float(out)]
        if not all(out.requires_grad for out in outs):
            return DETACHED
        generator = torch.Generator().manual_seed(seed)
        loss = torch.zeros((), dtype=torch.float64)
        for out in outs:
            loss = loss + (out * torch.randn(out.shape, generator=generator)).sum()
        return tuple(_grad(loss, leaves, allow_unused=True))

    return call(run, args, seconds), args


def gradient_problem(
    exercise: Exercise, case: Case, got: Outcome, want: Outcome, args: tuple[Any, ...]
) -> str | None:
    """Return what is wrong with the gradients, or None."""
    if got.kind != "returned":
        told = brief(got.error)
        text = f"The values are right, but with inputs that require gradients it fails. {told}"
        return "\n".join(filter(None, (text, explained(told))))
    if want.value == DETACHED:
        return None
    if got.value == DETACHED:
        return (
            "The values are right, but no gradient can flow from the output back to the inputs: "
            "nothing would ever be learned through it. What cuts the thread (`.detach()`, "
            "`.item()`, numpy, `torch.no_grad()`, a fresh tensor filled with numbers)?"
        )
    names = [n for n, a in zip(exercise.parameters, args, strict=False) if _is_float(a)]
    for name, one, other in zip(names, got.value, want.value, strict=True):
        found = _one_problem(name, one, other, case.gradient == "equal")
        if found:
            return found
    return None


def same_gradients(got: Any, want: Any) -> bool:
    """Return whether the gradients of two answers are wrong in the same way."""
    if isinstance(got, str) or isinstance(want, str) or len(got) != len(want):
        return got is want
    pairs = zip(got, want, strict=True)
    return all((a is b) if a is None or b is None else equal(a, b) for a, b in pairs)


def _one_problem(name: str, got: Tensor | None, want: Tensor | None, compare: bool) -> str | None:
    if want is None:
        return None
    if got is None:
        if not bool(want.any()):
            return None
        return (
            f"The values are right, but no gradient reaches `{name}`. "
            "Where does it lose its way to the output?"
        )
    if not bool(got.isfinite().all()):
        index = tuple(int(i) for i in (~got.isfinite()).nonzero()[0])
        return (
            f"The values are right, but the gradient of `{name}` is {got[index].item()} at index "
            f"{list(index)}. A NaN that is replaced afterwards still spoils the way back: "
            "where is it made in the first place?"
        )
    if compare and not equal(got, want):
        return f"The values are right, but the gradient of `{name}` is not. " + first_difference(
            got, want
        )
    return None


def _is_float(value: Any) -> bool:
    return isinstance(value, Tensor) and value.is_floating_point()
