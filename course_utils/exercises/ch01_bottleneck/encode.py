"""Exercise: read whole sequences, and keep what is known after each one's last real token."""

from course_utils.checking.exercise import Case, Exercise
from course_utils.exercises.ch01_bottleneck._encode_mistakes import MISCONCEPTIONS
from course_utils.exercises.ch01_bottleneck._rnn_inputs import scattered, sequences, zero_padded
from course_utils.models.recurrent import encode

EXERCISE = Exercise(
    name="encode",
    chapter=1,
    signature="encode(x, lengths, W_xh, W_hh, b)",
    asks="Run the step over all positions; give all states, and the one at each last real token.",
    reference=encode,
    minutes=12,
    difficulty=2,
    importance=4,
    parts=("states", "context"),
    cases=(
        # All sizes equal: a mistake with axes gives numbers here, and can be named by them.
        Case(
            "3 sequences of 3 steps, all widths 3, lengths 2, 1, 2",
            sequences(2, 1, 2, steps=3, d_in=3, d_h=3),
            gradient="equal",
        ),
        Case(
            "4 sequences of 6 steps, lengths 6, 1, 4, 3",
            sequences(6, 1, 4, 3, steps=6, d_in=2, d_h=5),
            gradient="equal",
        ),
        Case("no padding at all", sequences(5, 5, steps=5, d_in=3, d_h=4)),
        Case(
            "nothing but padding after the first step", sequences(1, 1, 1, steps=4, d_in=2, d_h=5)
        ),
        Case("padding of zeros", zero_padded(3, 5, 2, 7, steps=7, d_in=4, d_h=3)),
        Case("padding in every sequence", sequences(3, 5, 2, steps=8, d_in=4, d_h=6)),
        Case("one sequence", sequences(3, steps=5, d_in=4, d_h=2)),
        Case("one step", sequences(1, 1, steps=1, d_in=3, d_h=4)),
        Case("input and state of width 1", sequences(4, 2, steps=4, d_in=1, d_h=1)),
        Case("large inputs", sequences(4, 2, 3, steps=4, d_in=5, d_h=2, size=40.0)),
        Case(
            "inputs that do not lie in memory row by row",
            scattered(sequences(2, 5, steps=5, d_in=4, d_h=3)),
        ),
        Case("float32", sequences(5, 3, 4, steps=5, d_in=6, d_h=4, dtype="float32")),
        Case("bfloat16", sequences(2, 4, 1, steps=4, d_in=3, d_h=2, dtype="bfloat16")),
    ),
    misconceptions=MISCONCEPTIONS,
    hints=(
        "You have the step already. Start from a state of zeros, and let each step's result be "
        "the next one's state.",
        "Keep every state in a list. Which axis of (B, S, d_h) does the list become when you "
        "`torch.stack` it?",
        "A sequence of length 3 ends at which index, if the first is 0? Each sequence has its own.",
        "An index tensor for each of two axes picks one entry for each pair: the rows are "
        "`torch.arange(B)`. What are the steps?",
    ),
)
