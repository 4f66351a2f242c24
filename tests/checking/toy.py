"""A toy exercise on which the judge is tried: double every number."""

import torch

from course_utils.checking.exercise import Case, Cost, Exercise, Misconception, Property
from course_utils.measure import largest_tensor


def double(x: torch.Tensor) -> torch.Tensor:
    return 2 * x


def _not_positive(args, out) -> str | None:
    return None if bool((out * args[0] >= 0).all()) else "A sign was lost."


TOY = Exercise(
    name="double",
    chapter=0,
    signature="double(x)",
    asks="Double every number.",
    reference=double,
    cases=(
        Case("three numbers", lambda g: (torch.randn(3, generator=g).double(),), gradient="equal"),
        Case("a table", lambda g: (torch.randn(2, 5, generator=g).double(),), gradient="equal"),
    ),
    misconceptions=(
        Misconception("squared", lambda x: x * x, "It was squared. What is twice a number?"),
        Misconception("the first case only", lambda x: 2 * x if x.dim() == 1 else 3 * x, "Tables?"),
        Misconception(
            "triple by chance", lambda x: 2 * x.view(3) if x.dim() == 1 else 3 * x, "Other tables?"
        ),
        Misconception(
            "a detour", lambda x: x.softmax(-1), "Why softmax?", sign=lambda t: "softmax" in t.calls
        ),
        Misconception("cut off", lambda x: 2 * x.detach() + 0 * x, "Where is the thread cut?"),
    ),
    properties=(Property("signs stay", _not_positive),),
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
