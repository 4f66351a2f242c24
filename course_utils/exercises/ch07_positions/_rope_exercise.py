"""Both exercises on RoPE in one form; only the pairing differs."""

from course_utils.checking.exercise import Exercise, Function, Misconception, Property
from course_utils.exercises.ch07_positions._rope_inputs import (
    CASES,
    length_kept,
    unmoved_at_zero,
)
from course_utils.exercises.ch07_positions._rope_pair_mistakes import pair_mistakes
from course_utils.exercises.ch07_positions._rope_place_mistakes import place_mistakes
from course_utils.exercises.ch07_positions._rope_speed_mistakes import speed_mistakes
from course_utils.exercises.ch07_positions._rope_turn_mistakes import sign_mistakes

PROPERTIES = (
    Property("a token at position 0 is not turned", unmoved_at_zero),
    Property("a rotation keeps the length of every vector", length_kept),
)


def mistakes(pairing: str) -> tuple[Misconception, ...]:
    """Return all mistakes of a pairing; those that know a family by its marks come last."""
    every = (
        *sign_mistakes(pairing),
        *speed_mistakes(pairing),
        *place_mistakes(pairing),
        *pair_mistakes(pairing),
    )
    return tuple(sorted(every, key=lambda mistake: mistake.fits is not None))


def rope_exercise(
    pairing: str, reference: Function, asks: str, hints: tuple[str, ...], minutes: int
) -> Exercise:
    """Return the exercise for a pairing."""
    name = reference.__name__
    return Exercise(
        name=name,
        chapter=7,
        signature=f"{name}(x, positions, base=10000.0)",
        asks=asks,
        reference=reference,
        minutes=minutes,
        difficulty=3,
        importance=5,
        cases=CASES,
        misconceptions=mistakes(pairing),
        properties=PROPERTIES,
        hints=hints,
    )
