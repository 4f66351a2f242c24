"""Exercise: write the test that finds out whether an attention reads the future."""

from course_utils.attention import leaks_future
from course_utils.checking.exercise import Exercise
from course_utils.exercises.ch06_masks._causal_cases import CAUSAL
from course_utils.exercises.ch06_masks._leak_look_mistakes import LOOKS
from course_utils.exercises.ch06_masks._leak_mistakes import CHANGES
from course_utils.exercises.ch06_masks._leak_tables import TABLES
from course_utils.exercises.ch06_masks._leak_way_mistakes import WAYS
from course_utils.exercises.ch06_masks._leaky_cases import LEAKY

EXERCISE = Exercise(
    name="leaks_future",
    chapter=6,
    signature="leaks_future(attention, num_positions, d_model)",
    asks="Write the test that says whether any output of an attention depends on a later position.",
    reference=leaks_future,
    minutes=15,
    difficulty=4,
    importance=5,
    cases=(*CAUSAL[:1], *LEAKY[:2], *TABLES[:1], *CAUSAL[1:], *LEAKY[2:], *TABLES[1:]),
    misconceptions=(*CHANGES, *WAYS, *LOOKS),
    hints=(
        "Two texts that begin alike: what must a causal attention say about the part that they "
        "share?",
        "Make one random input and a changed copy of it. If the change starts at position t, which "
        "outputs may differ, and which may not?",
        "One place to start the change is not enough: a leak may sit at either end or reach one "
        "step only. Go through all of them, from an unchanged input each time.",
        "Leaks can be small. For the same past, a causal attention gives the same numbers: what is "
        "the strictest comparison of two tensors? And is your change as large as it can be?",
    ),
)
