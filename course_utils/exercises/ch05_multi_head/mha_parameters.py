"""Exercise: count what multi-head attention learns."""

from course_utils.checking.exercise import Case, Exercise
from course_utils.checking.inputs import given
from course_utils.exercises.ch05_multi_head._parameter_mistakes import MISCONCEPTIONS
from course_utils.measure import mha_parameters

EXERCISE = Exercise(
    name="mha_parameters",
    chapter=5,
    signature="mha_parameters(d_model, num_heads, bias)",
    asks="Count the numbers in the four projections of multi-head attention.",
    reference=mha_parameters,
    minutes=5,
    difficulty=1,
    importance=3,
    cases=(
        Case("width 35, 5 heads, no bias", given(35, 5, False)),
        Case("width 35, 5 heads, with bias", given(35, 5, True)),
        Case("width 35, 7 heads, no bias", given(35, 7, False)),
        Case("width 22, 11 heads, with bias", given(22, 11, True)),
        Case("one head, no bias", given(7, 1, False)),
        Case("one head, with bias", given(6, 1, True)),
        Case("heads of width 1", given(5, 5, True)),
        Case("the base size of 2017: width 512, 8 heads", given(512, 8, False)),
        Case("width 768, 12 heads, with bias", given(768, 12, True)),
        Case("width 768, 6 heads, with bias", given(768, 6, True)),
        Case("one of everything", given(1, 1, True)),
    ),
    misconceptions=MISCONCEPTIONS,
    hints=(
        "Name the four projections first. Which of them come before the heads, which after?",
        "Each of the four is a matrix that is as wide as the stream on both sides, whatever the "
        "number of heads: a head only owns some of its columns.",
        "A bias adds one number to each column of a product. How many columns do all four "
        "matrices have together?",
    ),
)
