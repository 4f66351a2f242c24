"""What goes wrong in a leak test: the way it asks, or that it does not ask at all."""

import torch

from course_utils.checking.exercise import Misconception
from course_utils.exercises.ch06_masks._leak_tests import (
    answer,
    by_gradient,
    by_jacobian,
    called_with,
    features,
    later,
    of_inputs,
)

WAYS = (
    Misconception(
        "features instead of positions",
        features,
        "The last axis was cut, the one of the features. Which of the three axes are the "
        "positions?",
    ),
    Misconception(
        "attention called with another shape",
        called_with(lambda x, start: x[:, :start]),
        "The attention was given something else than float32 (1, num_positions, d_model). One "
        "with a fixed mask or learned positions takes no other length, and sequences in one batch "
        "may influence each other. How can the future change without another shape?",
        also=(
            called_with(lambda x, start: torch.cat([x, later(x, start)])),
            called_with(lambda x, start: x[0]),
            called_with(lambda x, start: x.double()),
        ),
    ),
    Misconception(
        "the gradient is asked",
        by_gradient,
        "The gradient says what an output depends on where there is one. An attention that "
        "chooses, rounds or leaves torch has none, and may leak all the same. What can be tried "
        "with any function at all?",
        also=(by_jacobian,),
    ),
    Misconception(
        "inputs compared instead of outputs",
        of_inputs,
        "The attention was called, but the answer does not depend on what it returned. Which two "
        "tensors have to be compared?",
    ),
    Misconception(
        "always False",
        answer(False),
        "The answer is always False: the attention is not called, or what it returns plays no "
        "part. How can a function be found out from outside?",
    ),
    Misconception(
        "always True",
        answer(True),
        "The answer is always True: the attention is not called, or what it returns plays no "
        "part. How can a function be found out from outside?",
    ),
)
