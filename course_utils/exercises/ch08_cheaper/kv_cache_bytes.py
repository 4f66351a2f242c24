"""Exercise: the bytes that keys and values of earlier tokens take."""

from course_utils.checking.exercise import Case, Exercise
from course_utils.checking.inputs import given
from course_utils.exercises.ch08_cheaper._cache_mistakes import MISCONCEPTIONS
from course_utils.measure import kv_cache_bytes

EXERCISE = Exercise(
    name="kv_cache_bytes",
    chapter=8,
    signature=(
        "kv_cache_bytes(num_layers, num_kv_heads, d_k, num_tokens, batch, bytes_per_element)"
    ),
    asks="Count the bytes of all keys and values that are kept while text is generated.",
    reference=kv_cache_bytes,
    minutes=5,
    difficulty=1,
    importance=4,
    cases=(
        Case("3 layers, 5 heads of width 7, 11 tokens, 13 sequences", given(3, 5, 7, 11, 13, 4)),
        Case("6 layers, one head, 9 tokens, 7 sequences", given(6, 1, 10, 9, 7, 2)),
        Case("one layer, one sequence", given(1, 3, 5, 17, 1, 2)),
        Case("numbers of one byte", given(5, 3, 8, 21, 7, 1)),
        Case("numbers of 8 bytes", given(5, 3, 9, 6, 7, 8)),
        Case("one token", given(4, 6, 5, 1, 3, 2)),
        Case("no token yet", given(4, 6, 5, 0, 3, 2)),
        Case("one of everything", given(1, 1, 1, 1, 1, 1)),
        Case("32 layers, 8 heads of width 128, 4,096 tokens", given(32, 8, 128, 4096, 1, 2)),
        Case(
            "80 layers, 64 heads, 16 sequences of 32,768 tokens", given(80, 64, 128, 32768, 16, 2)
        ),
        Case("a count that float32 cannot hold", given(61, 7, 127, 30011, 3, 3)),
    ),
    misconceptions=MISCONCEPTIONS,
    hints=(
        "Begin with one token in one layer: which two vectors are kept, and in how many heads?",
        "A key is d_k numbers wide, and so is a value. Query heads do not count: only the heads of "
        "keys and values are kept.",
        "Then multiply: by the tokens of a sequence, by the sequences, by the layers, and by the "
        "bytes of one number.",
    ),
)
