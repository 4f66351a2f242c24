"""Mistakes in a test of implementations, and the cases that hand one in.

Each case gives the test one implementation of a panel. The lines speak of the steps

    out = attempt(implementation, *handed)
    same = close(out, want)
    answers.append(same)
    accepted = all(answers)
    return accepted
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from course_utils.checking.exercise import Case, case
from course_utils.checking.mistakes import Mistake, adding, mistake
from course_utils.clinic import PANELS
from course_utils.exercises.shared.kinds import NOTHING


def planted(exercise: str) -> tuple[Case, ...]:
    """Return a case for each implementation of the exercise's panel."""
    cases = []
    for one in PANELS[exercise]:
        kind = "a right way, to be accepted" if one.is_right else "a fault, to be refused"
        did = "refused an implementation that keeps the contract" if one.is_right else "accepted a fault"
        cases.append(case(f"{kind}: {one.name}", _handing(one.make), says=f"The test {did}: {one.name}."))
    return tuple(cases)


def _handing(make: Callable[[], Callable[..., object]]) -> Callable[[torch.Generator], tuple[Any, ...]]:
    return lambda generator: (make(),)


def draw(generator: torch.Generator, *shape: int) -> Tensor:
    """Draw standard normals in float64."""
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def attempt(implementation: Callable[..., Any], *args: Any) -> Any:
    """Return what a call gives, or None where it raises."""
    try:
        return implementation(*args)
    except Exception:
        return None


def caught(kinds: Any, implementation: Callable[..., Any], *args: Any) -> Any:
    """Return what a call gives, or None where it raises an error of these kinds; others escape."""
    try:
        return implementation(*args)
    except kinds:
        return None


def copied(tensors: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return a copy of each tensor."""
    return tuple(x.clone() if isinstance(x, Tensor) else x for x in tensors)


def shape(out: Any) -> Any:
    """Return the shape of a tensor, and None for anything else."""
    return out.shape if isinstance(out, Tensor) else None


def near(out: Any, want: Any, room: float) -> bool:
    """Return whether two tensors have one shape and differ by so much at most."""
    return shape(out) == shape(want) and bool(((out - want).abs() <= room).all())


def close(out: Any, want: Tensor) -> bool:
    """Return whether two tensors are the same to rounding."""
    largest = max([1.0, *want.abs().flatten().tolist()])
    return near(out, want, 1e-8 * largest)


VERDICT = (
    mistake("every implementation accepted", "This test accepts every implementation. Which outcome of which "
            "comparison makes it say False?", "return True"),
    mistake("every implementation refused", "This test refuses every implementation, or nearly every one, right ones "
            "too. Does it expect what the contract says, and hand in what the contract promises? Does it leave room "
            "for rounding?",
            "return False"),
    mistake("the answer inverted", "Right implementations are refused and faulty ones accepted. What does True mean "
            "here?", "return not accepted"),
    mistake("one agreement is enough", "One input on which an implementation is right makes this test accept it. How "
            "many of them must agree?", "accepted = any(answers)"),
    mistake("shapes only", "Every output of the right shape is accepted, whatever its numbers. With what can the "
            "numbers be compared?", "same = shape(out) == shape(want)"),
    mistake("an assert for an answer", "The test stopped with an AssertionError. It is asked for a verdict, True or "
            "False: what does an implementation that is wrong get?", "assert close(out, want)\nsame = True"),
    *adding((NOTHING,), {"nothing returned": (
        "return True if accepted else None", "return None if accepted else False",
    )}),
    mistake("errors that escape", "An error of the implementation ended the test as well. What should the test say of "
            "an implementation that raises?", "out = implementation(*handed)"),
    mistake("equality to the last bit", "Right implementations that compute in another order are refused: their last "
            "digits differ. How much room does rounding need?",
            "same = torch.equal(out, want) if shape(out) else False",
            *(f"same = shape(out) == shape(want) and torch.allclose(out, want, {room})" for room in (
                "rtol=1e-15, atol=1e-15", "rtol=1e-16, atol=1e-16", "rtol=1e-15, atol=0")),
            "same = near(out, want, 1e-15)", "same = near(out, want, 1e-16)"),
)  # fmt: skip


def global_random(line: str) -> Mistake:
    """Return the mistake of inputs drawn with the generator that everybody uses."""
    return mistake("the global random state moved", "Random numbers were drawn, or seeded, from the generator that the "
                   "whole notebook shares. How does a test get numbers of its own, the same every time?",
                   line, detects=lambda trace: trace.used_global_random)
