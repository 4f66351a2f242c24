"""Exercise: how much Q Kᵀ computes for each byte that it moves."""

from course_utils.checking.exercise import Case, Exercise
from course_utils.checking.inputs import given
from course_utils.exercises.ch04_queries_keys_values._intensity_mistakes import BYTES, WORK
from course_utils.exercises.ch04_queries_keys_values._intensity_unit_mistakes import UNITS
from course_utils.measure.roofline import matmul_intensity

EXERCISE = Exercise(
    name="matmul_intensity",
    chapter=4,
    signature="matmul_intensity(num_queries, num_keys, d_k, bytes_per_element, count_output)",
    asks="Divide the operations of Q Kᵀ by the bytes that it reads, and writes if they count.",
    reference=matmul_intensity,
    minutes=8,
    difficulty=2,
    importance=3,
    cases=(
        Case("inputs only: 7 queries, 11 keys, width 19, 4 bytes", given(7, 11, 19, 4, False)),
        Case("the same with the output", given(7, 11, 19, 4, True)),
        Case("more queries than keys, 2 bytes", given(11, 4, 6, 2, False)),
        Case("the same with the output again", given(11, 4, 6, 2, True)),
        Case("8 bytes", given(6, 10, 3, 8, False)),
        Case("8 bytes, with the output", given(6, 10, 3, 8, True)),
        Case("one query: a step of generating", given(1, 1000, 64, 2, False)),
        Case("one query, with the output", given(1, 1000, 64, 2, True)),
        Case("1 byte and width 1", given(4, 9, 1, 1, True)),
        Case("512 queries and keys in half precision", given(512, 512, 64, 2, False)),
        Case("the same with the output, once more", given(512, 512, 64, 2, True)),
        Case("far more keys than queries", given(300, 20_000, 128, 2, True)),
    ),
    misconceptions=(*WORK, *BYTES, *UNITS),
    hints=(
        "Three counts first: how many operations, how many numbers read, how many written?",
        "Q is (L, d_k), K is (S, d_k), the scores are (L, S). One score sums up d_k products.",
        "Every number that moves has `bytes_per_element` bytes, the written ones too. Mind the "
        "brackets: what stands under the fraction?",
    ),
)
