"""Exercise: the slopes of ALiBi."""

from course_utils.checking.exercise import Case, Exercise, Function
from course_utils.exercises.ch07_positions._numbers import numbers
from course_utils.exercises.ch07_positions._slope_mistakes import MISCONCEPTIONS
from course_utils.positions import alibi_slopes


def _to_be_learned(fn: Function, num_heads: int) -> bool:
    return bool(fn(num_heads).requires_grad)


def _heads(count: int) -> Case:
    return Case(f"{count} head{'s' if count > 1 else ''}", numbers(count))


EXERCISE = Exercise(
    name="alibi_slopes",
    chapter=7,
    signature="alibi_slopes(num_heads)",
    asks="Return the slope of each head: how fast its scores fall with the distance.",
    reference=alibi_slopes,
    minutes=10,
    difficulty=2,
    importance=3,
    cases=(
        _heads(8),
        _heads(2),
        _heads(1),
        _heads(4),
        _heads(16),
        Case(
            "whether training would change them",
            numbers(8),
            run=_to_be_learned,
            says="The slopes require a gradient, so training would change them. ALiBi's are fixed.",
        ),
        _heads(3),
        _heads(6),
        _heads(5),
        _heads(12),
        _heads(7),
        _heads(20),
        _heads(40),
    ),
    misconceptions=MISCONCEPTIONS,
    hints=(
        "For 8 heads the slopes are 1/2, 1/4, ..., 1/256. What are they for 4 heads, if the last "
        "one stays 1/256?",
        "For a power of two, write the exponents first: multiples of -8/n.",
        "`num_heads.bit_length()` or `math.floor(math.log2(num_heads))` leads to the largest power "
        "of two.",
        "For 6 heads: the slopes of 4, then 2 more from the slopes of 8. Of those 8, every second "
        "one is among the 4 already: which ones are new?",
    ),
)
