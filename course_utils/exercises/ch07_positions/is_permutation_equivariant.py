"""Exercise: a test that tells whether a layer uses the order of its tokens."""

from course_utils.checking.exercise import Exercise
from course_utils.exercises.ch07_positions._equivariance_mistakes import MISCONCEPTIONS
from course_utils.exercises.ch07_positions._planted import CASES
from course_utils.positions import is_permutation_equivariant

EXERCISE = Exercise(
    name="is_permutation_equivariant",
    chapter=7,
    signature="is_permutation_equivariant(layer, x, permutation)",
    asks="Say whether shuffling the tokens of x only shuffles the layer's output.",
    reference=is_permutation_equivariant,
    minutes=10,
    difficulty=2,
    importance=4,
    cases=CASES,
    misconceptions=MISCONCEPTIONS,
    hints=(
        "Two outputs are compared: one of shuffled tokens, and one that is shuffled afterwards.",
        "`x[:, permutation]` shuffles the tokens of every sequence. What does `x[permutation]`?",
        "Sums in another order differ in their last digits: `torch.allclose` forgives those, and "
        "hardly more.",
        "The answer is Python's True or False for the given permutation; no other one is tried.",
    ),
)
