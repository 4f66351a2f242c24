"""Run a function on one case and say what is wrong with what it did, if anything."""

import dis
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import repeat
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves

from course_utils.checking.compare import (
    Totals,
    equal,
    first_difference,
    kind_problem,
    named_tensors,
    sums_differ,
    totals,
)
from course_utils.checking.errors import brief, explained
from course_utils.checking.exercise import Case, Exercise
from course_utils.checking.guard import SECONDS, Outcome, ReturnedError, call, raising

Problem = tuple[str, str]  # a status, and what a learner reads


@dataclass(frozen=True)
class Observation:
    """Behaviour of a function on one case, and its original arguments."""

    outcome: Outcome
    args: tuple[Any, ...]
    changed_inputs: tuple[str, ...]

    @cached_property
    def totals(self) -> list[Totals | None]:
        """The totals of each tensor of the value."""
        parts = tree_leaves(self.outcome.value)
        return [totals(part) for part in parts if isinstance(part, Tensor)]


def observe(
    exercise: Exercise,
    fn: Callable[..., Any],
    case: Case,
    seed: int,
    seconds: float,
    watch: bool = True,
) -> Observation:
    """Call the function on fresh arguments of the case; `watch` notes what it does on the way."""
    used, kept = case.arguments(seed), case.kept(seed)
    tried = raising(fn) if exercise.callable_apart else fn
    outcome = call(case.use(tried), used, seconds, watch)
    changed = [
        name
        for name, one, other in zip(exercise.parameters, used, kept, strict=False)
        if not _untouched(one, other)
    ]
    return Observation(outcome, kept, tuple(changed))


def _untouched(now: Any, before: Any) -> bool:
    """Return whether a tensor, or a list of them, is as it was; other things are not looked at."""
    if isinstance(before, list):
        return len(now) == len(before) and all(map(_untouched, now, before))
    if not isinstance(before, Tensor):
        return True
    if not isinstance(now, Tensor):
        return False
    same_kind = now.shape == before.shape and now.dtype == before.dtype
    same_kind = same_kind and now.requires_grad == before.requires_grad
    same = same_kind and torch.equal(now, before)  # but NaN does not equal itself
    return same or (same_kind and bool(((now == before) | (now.isnan() & before.isnan())).all()))


def problem(exercise: Exercise, seen: Observation, want: Any, case: Case) -> Problem | None:
    """Return the first thing that is wrong with an observation, or None."""
    outcome = seen.outcome
    if outcome.kind != "returned":
        return _unfinished(exercise, seen)
    if outcome.value is None:
        return "wrong_type", "The function returned nothing. Is a `return` missing at its end?"
    wrong_kind = kind_problem(outcome.value, want, parts=exercise.parts)
    if wrong_kind:
        return wrong_kind
    if seen.changed_inputs:
        names = " and ".join(f"`{name}`" for name in seen.changed_inputs)
        return "changed_input", (
            f"The call changed its input {names} in place, so the caller's data are lost. "
            "Which line writes into a tensor instead of making a new one?"
        )
    if outcome.changed:
        return "changed_input", (
            f"The call replaced {', '.join(outcome.changed)} for everybody else in this notebook. "
            "It was put back. A function must not change anything outside itself."
        )
    if not equal(outcome.value, want, case.tolerance, case.absolute):
        return _wrong_value(exercise, seen, want, case)
    return None


def is_right(seen: Observation, want: Any, case: Case) -> bool:
    """Return whether `problem` would find none, without putting it into words."""
    outcome = seen.outcome
    quiet = outcome.kind == "returned" and not seen.changed_inputs and not outcome.changed
    if not quiet or outcome.value is None:
        return False
    return equal(outcome.value, want, case.tolerance, case.absolute)


def _wrong_value(exercise: Exercise, seen: Observation, want: Any, case: Case) -> Problem:
    got = seen.outcome.value
    if case.says is not None:
        return "different", case.says
    for law in exercise.laws:
        broken = law.broken(seen.args, got)
        if broken:
            return "broken_property", f"{broken} The law: {law.name}."
    return "different", first_difference(got, want, case.tolerance, exercise.parts)


def _unfinished(exercise: Exercise, seen: Observation) -> Problem:
    outcome = seen.outcome
    if outcome.kind == "endless":
        return "crashed", (
            f"The call did not come to an end within {SECONDS:g} seconds of processor time and was "
            "stopped. Is there a loop that never ends, or one that takes millions of steps?"
        )
    if outcome.kind == "exited":
        return "crashed", (
            "The function called `sys.exit` (or `exit`), which would end the notebook. "
            "A function gives its result back with `return`."
        )
    if isinstance(outcome.error, ReturnedError):
        return "wrong_type", str(outcome.error)
    if isinstance(outcome.error, NotImplementedError) and _own_words(outcome.error):
        return "not_attempted", "The function still raises NotImplementedError: it waits for you."
    return "crashed", _crash(exercise, seen)


def _crash(exercise: Exercise, seen: Observation) -> str:
    error = seen.outcome.error
    text = told = brief(error)
    frames = traceback.extract_tb(error.__traceback__) if error is not None else []
    others = ("course_utils", "torch", "triton", "numpy", "contextlib")
    own = [f for f in frames if not any(name in f.filename for name in others)]
    if own and own[-1].line:
        text += f"\nIt happened in the line `{own[-1].line}`."
    text += "".join(f"\n{says}" for says in [explained(told)] if says)
    return f"{text}\nThe arguments were {named_tensors(exercise.parameters, seen.args)}."


def _own_words(error: NotImplementedError) -> bool:
    """Tell a stub's own NotImplementedError from torch's, which names an operation and a dtype."""
    return "not implemented for" not in str(error) and "Could not run" not in str(error)


def is_stub(fn: Callable[..., Any]) -> bool:
    """Return whether a function's body does nothing at all: only `pass`, `...` or a docstring."""
    code = getattr(fn, "__code__", None)
    idle = {"RESUME", "NOP", "LOAD_CONST", "RETURN_VALUE", "RETURN_CONST", "COPY_FREE_VARS"}
    if code is None or any(step.opname not in idle for step in dis.get_instructions(code)):
        return False
    return all(isinstance(c, str) or c is None or c is Ellipsis for c in code.co_consts)


def behaves_alike(one: Observation, other: Observation, case: Case) -> bool:
    """Return whether two functions did the same on a case: same value, error and side effects."""
    a, b = one.outcome, other.outcome
    if (a.kind, one.changed_inputs, a.changed) != (b.kind, other.changed_inputs, b.changed):
        return False
    if a.kind == "raised":
        return type(a.error) is type(b.error) and str(a.error) == str(b.error)
    if a.kind != "returned":
        return False
    if any(map(sums_differ, one.totals, other.totals, repeat(case.tolerance))):
        return False
    return equal(a.value, b.value, case.tolerance, case.absolute)
