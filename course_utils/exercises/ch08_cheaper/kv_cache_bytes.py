"""Exercise: the bytes that keys and values of earlier tokens take."""

from dataclasses import replace
from typing import Any

from course_utils.checking.exercise import case, exercise
from course_utils.checking.inputs import given
from course_utils.checking.mistakes import adding, mistake, without
from course_utils.exercises.shared.counts import CACHE, INTEGER
from course_utils.measure import kv_cache_bytes

RIGHT = """
def kv_cache_bytes(num_layers, num_kv_heads, d_k, num_tokens, batch, bytes_per_element):
    kept = 2
    layers = num_layers
    heads = num_kv_heads
    width = d_k
    tokens = num_tokens
    sequences = batch
    size = bytes_per_element
    total = kept * layers * heads * width * tokens * sequences * size
    return total
"""

_FACTORS = ("layers", "heads", "width", "tokens", "sequences", "size")


def _without(name: str) -> str:
    return " * ".join(one for one in _FACTORS if one != name)


def _last_digits_lost(args: tuple[Any, ...], got: int) -> bool:
    """Return whether a large count has the digits that a float32 can hold, as a product of them gives it."""
    right = kv_cache_bytes(*args)
    return right > 2**24 and 0 < abs(int(got) - right) < 1e-6 * right


EXERCISE = exercise(
    kv_cache_bytes,
    right=RIGHT,
    asks="Count the bytes of all keys and values that are kept while text is generated.",
    minutes=5,
    difficulty=1,
    importance=4,
    cases=(
        case("3 layers, 5 heads of width 7, 11 tokens, 13 sequences", given(3, 5, 7, 11, 13, 4)),
        case("6 layers, one head, 9 tokens, 7 sequences", given(6, 1, 10, 9, 7, 2)),
        case("one layer, one sequence", given(1, 3, 5, 17, 1, 2)),
        case("numbers of one byte", given(5, 3, 8, 21, 7, 1)),
        case("numbers of 8 bytes", given(5, 3, 9, 6, 7, 8)),
        case("one token", given(4, 6, 5, 1, 3, 2)),
        case("no token yet", given(4, 6, 5, 0, 3, 2)),
        case("one of everything", given(1, 1, 1, 1, 1, 1)),
        case("32 layers, 8 heads of width 128, 4,096 tokens", given(32, 8, 128, 4096, 1, 2)),
        case("80 layers, 64 heads, 16 sequences of 32,768 tokens", given(80, 64, 128, 32768, 16, 2)),
        case("a count that float32 cannot hold", given(61, 7, 127, 30011, 3, 3)),
    ),
    mistakes=(
        *adding(CACHE, {"bits and bytes confused": ("return total // 8", "return total // size // 8")}),
        mistake("the tokens left out", "The bytes are those of a single token. How many tokens of a sequence are kept?",
                "tokens = 1", "tokens = min(num_tokens, 1)"),
        mistake("tokens of the past only", "One token too few or too many is counted. `num_tokens` is how many are "
                "kept: where does the other one come from?", "tokens = num_tokens - 1", "tokens = num_tokens + 1"),
        mistake("tokens squared", "The count grows with the square of the length, as a table of weights would. What is "
                "kept of a token does not depend on how many others there are.",
                "tokens = num_tokens**2", "kept = 1\ntokens = num_tokens**2", "width = 1\ntokens = num_tokens**2",
                "kept = 1\nwidth = 1\ntokens = num_tokens**2", "kept = 1\ntokens = num_tokens * (num_tokens + 1)"),
        mistake("added instead of multiplied", "Two of the sizes were added to each other. Each of them multiplies the "
                "number of keys: twice the layers, twice the bytes.",
                "total = kept * (layers + heads) * width * tokens * sequences * size",
                "total = kept * layers * (heads + width) * tokens * sequences * size",
                "total = kept * layers * heads * width * (tokens + sequences) * size",
                "total = layers * heads * width * tokens * sequences * size + kept",
                "total = kept * (layers + heads + width + tokens + sequences + size)"),
        mistake("another unit", "The count was divided into kilobytes, megabytes or gigabytes. Bytes are asked for; "
                "convert them to a readable unit only when you print them.",
                *(f"return total {sign} 1024{power}" for sign in ("//", "/") for power in ("", "**2", "**3")),
                *(f"return total {sign} {unit}" for sign in ("//", "/") for unit in ("10**3", "10**6", "10**9"))),
        mistake("a layer or a head too few or too many", "The count is that of one layer, or one head, more or less. "
                "Which numbers does your `range` give, and does anything but the layers keep keys?",
                *(f"{step} = {size} {sign} 1" for step, size in (("layers", "num_layers"), ("heads", "num_kv_heads"))
                  for sign in "-+")),
        mistake("keys and values counted differently", "Keys and values were not counted alike: one of the two lacks a "
                "factor. Which of the sizes would not hold for both?",
                *(f"total = {_without('')} + {_without(one)}" for one in _FACTORS)),
        mistake("the table of weights kept too", "The weights of the queries were counted besides keys and values. "
                "Which of them does a later token read again?",
                "total = (kept * width + tokens) * layers * heads * tokens * sequences * size",
                "total = (kept * width * heads + tokens) * layers * tokens * sequences * size",
                "total = kept * (width + tokens) * layers * heads * tokens * sequences * size"),
        mistake("two counts, or text", "One whole number is asked for, that of keys and values together: not two, and "
                "nothing in words.", "return total // 2, total // 2", "return total, total", "return str(total)",
                'return f"{total} bytes"', 'return f"{total:,}"', 'return f"{total:,} bytes"', "return [total]"),
        *(replace(one, matches=_last_digits_lost) if one.name == "overflow" else one
          for one in without(INTEGER, "return total / 1e3", "return total / 1e6", "return total / 1e9")),
    ),
    hints=(
        "Begin with one token in one layer: which two vectors are kept, and in how many heads?",
        "A key is d_k numbers wide, and so is a value. Query heads do not count: only the heads of keys and values "
        "are kept.",
        "Then multiply: by the tokens of a sequence, by the sequences, by the layers, and by the bytes of one number.",
    ),
)
