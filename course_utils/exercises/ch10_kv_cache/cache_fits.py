"""Exercise: how many tokens fit into the memory that is left."""

from course_utils.checking.exercise import Case, Exercise
from course_utils.checking.inputs import given
from course_utils.exercises.ch10_kv_cache._cache_fits_mistakes import MISCONCEPTIONS
from course_utils.measure import cache_fits

EXERCISE = Exercise(
    name="cache_fits",
    chapter=10,
    signature="cache_fits(gib, num_layers, num_kv_heads, d_k, bytes_per_element, batch)",
    asks="Count the whole tokens of each sequence whose keys and values fit into so many GiB.",
    reference=cache_fits,
    minutes=5,
    difficulty=1,
    importance=4,
    cases=(
        Case(
            "3 GiB, 5 layers, 7 heads of width 96, 2 bytes, 3 sequences", given(3, 5, 7, 96, 2, 3)
        ),
        Case("2 GiB, 6 layers, one head, 4 bytes", given(2, 6, 1, 80, 4, 5)),
        Case("one layer, one sequence", given(1, 1, 3, 56, 2, 1)),
        Case("numbers of one byte", given(1, 7, 5, 72, 1, 3)),
        Case("numbers of 8 bytes", given(3, 3, 6, 40, 8, 7)),
        Case("half a GiB", given(0.5, 5, 3, 112, 2, 3)),
        Case("2.75 GiB", given(2.75, 11, 3, 64, 2, 7)),
        Case("an exact fill", given(1, 4, 8, 64, 2, 2)),
        Case("a little too little for the next token", given(1, 7, 3, 64, 4, 5)),
        Case("a little short of even one token", given(0.001, 61, 64, 128, 2, 16)),
        Case("very little memory", given(0.0001, 2, 3, 20, 2, 1)),
        Case("no memory", given(0, 2, 3, 20, 2, 1)),
        Case("4 GiB", given(4, 3, 2, 36, 2, 1)),
        Case("32 layers, 8 heads of width 128, 16 GiB", given(16, 32, 8, 128, 2, 1)),
        Case("80 layers, 64 heads, 640 GiB, 16 sequences", given(640, 80, 64, 128, 2, 16)),
        Case("a count that float32 cannot hold", given(70, 1, 1, 3, 1, 1)),
    ),
    misconceptions=MISCONCEPTIONS,
    hints=(
        "How many bytes does one token take in one sequence? `kv_cache_bytes` of chapter 08 knows.",
        "All sequences grow together: one more token a sequence costs `batch` times that.",
        "A GiB is 2**30 bytes. Divide, and round down to a whole number of tokens.",
    ),
)
