"""Exercise: count what the three projections learn."""

from course_utils.checking.exercise import Case, Exercise
from course_utils.checking.inputs import given
from course_utils.exercises.ch04_queries_keys_values._parameter_bias_mistakes import BIASES, WHAT
from course_utils.exercises.ch04_queries_keys_values._parameter_mistakes import WIDTHS
from course_utils.measure.parameters import qkv_parameters

EXERCISE = Exercise(
    name="qkv_parameters",
    chapter=4,
    signature="qkv_parameters(d_model, num_heads, d_k, d_v, bias)",
    asks="Count the parameters of the query, key and value projections of all heads.",
    reference=qkv_parameters,
    minutes=6,
    difficulty=1,
    importance=3,
    cases=(
        Case("d_model 20, 4 heads of widths 6 and 11", given(20, 4, 6, 11, False)),
        Case("the same with biases", given(20, 4, 6, 11, True)),
        Case("values narrower than keys", given(13, 5, 8, 3, False)),
        Case("the same with biases again", given(13, 5, 8, 3, True)),
        Case("one head", given(9, 1, 6, 4, True)),
        Case("one head without biases", given(9, 1, 6, 4, False)),
        Case("BERT-base: 12 heads of width 64", given(768, 12, 64, 64, False)),
        Case("BERT-base with biases", given(768, 12, 64, 64, True)),
        Case("heads that do not divide d_model", given(20, 7, 2, 5, True)),
        Case("everything 1", given(1, 1, 1, 1, True)),
        # Above 2**24 and odd, so that float32 cannot hold it; small enough to make the layers.
        Case("more than float32 counts one by one", given(1000, 33, 127, 255, True)),
    ),
    misconceptions=(*WIDTHS, *BIASES, *WHAT),
    hints=(
        "Start with one head and no bias. What shapes do its three matrices have?",
        "A matrix of shape (d_model, d_k) holds d_model · d_k numbers. Which two of the three "
        "are that wide?",
        "All heads have their own matrices, equally large. A bias has one number for each column "
        "of a matrix.",
    ),
)
