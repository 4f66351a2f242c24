"""A toy exercise on which the judge is tried: double every number."""

import torch

from course_utils.checking.exercise import Cost, Law, case, exercise
from course_utils.checking.mistakes import mistake
from course_utils.measure import largest_tensor

RIGHT = """
def double(x):
    twice = 2 * x
    return twice
"""


def double(x: torch.Tensor) -> torch.Tensor:
    return 2 * x


def _not_positive(args, out) -> str | None:
    return None if bool((out * args[0] >= 0).all()) else "A sign was lost."


TOY = exercise(
    double,
    right=RIGHT,
    asks="Double every number.",
    cases=(
        case("three numbers", lambda g: (torch.randn(3, generator=g).double(),), gradient="equal"),
        case("a table", lambda g: (torch.randn(2, 5, generator=g).double(),), gradient="equal"),
    ),
    mistakes=(
        mistake("squared", "It was squared. What is twice a number?", "twice = x * x"),
        mistake("the first case only", "Tables?", "twice = 2 * x if x.dim() == 1 else 3 * x"),
        mistake(
            "triple by chance", "Other tables?", "twice = 2 * x.view(3) if x.dim() == 1 else 3 * x"
        ),
        mistake(
            "a detour",
            "Why softmax?",
            "twice = x.softmax(-1)",
            detects=lambda t: "softmax" in t.calls,
        ),
        mistake("cut off", "Where is the thread cut?", "twice = 2 * x.detach() + 0 * x"),
        mistake("one too many", "What was added at the end?", "return twice + 1"),
    ),
    laws=(Law("signs stay", _not_positive),),
    costs=(
        Cost(
            "the largest tensor",
            largest_tensor,
            (64, 256),
            lambda n, g: (torch.randn(n, generator=g).double(),),
            1.1,
            "Does a table of all pairs have to be made?",
        ),
    ),
    hints=("A nudge.", "Add it to itself?", "Two times."),
)
