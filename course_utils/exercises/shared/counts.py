"""Mistakes where parameters, operations or bytes are counted.

`INTEGER` speaks of the step

    return total

`MULTIPLY_ADD` of a count in which every multiply-add is taken times a step of its own

    per_multiply_add = 2

`flag` and `conditional` of steps whose names they are told, and `CACHE` (kv_cache_bytes, cache_fits)
of a product of six sizes, each of which is a step of its own first:

    kept = 2
    layers = num_layers
    heads = num_kv_heads
    width = d_k
    sequences = batch
    size = bytes_per_element

`SIZE`, which it holds, speaks of the last alone; `GIB` of the bytes of a GiB,

    unit = 2**30
"""


from course_utils.checking.mistakes import Mistake, mistake

# Versions of an overflow that show only in counts of more than 32 bits.
BEYOND_32_BITS = (
    "return (total + 2**31) % 2**32 - 2**31",
    "return total % 2**32",
    "return min(total, 2**31 - 1)",
)
INTEGER = (
    mistake("a float", "The count is a float, as `/` or `1e3` gives it. A count is a whole number: which division, or "
            "which order, keeps it one?",
            "return float(total)", "return total / 1e3", "return total / 1e6", "return total / 1e9"),
    mistake("a tensor", "The count came as a tensor. Python's `int` is asked for, and it has no largest number.",
            "return torch.tensor(total)"),
    mistake("overflow", "A large count came out negative, smaller or without its last digits: 32 bits end at about two "
            "thousand million, and float32 loses digits long before. Python's own int does neither.", *BEYOND_32_BITS,
            "return int(torch.tensor(float(total), dtype=torch.float32))"),
)

MULTIPLY_ADD = (
    mistake("multiplications only", "A sum of products has as many additions as multiplications, and both are counted. "
            "What is missing?", "per_multiply_add = 1"),
)


def flag(argument: str, step: str, *, ignored: str, turned: str) -> tuple[Mistake, ...]:
    """Return the mistakes with a flag that changes the count, read as `step = argument`.

    Args:
        argument: The flag, e.g. "bias", by which the mistakes are named.
        step: What it is read into, e.g. "is_biased" for the step `is_biased = bias`.
        ignored: What to ask where both settings give the same count.
        turned: What to ask where they are the wrong way round.
    """
    return (
        mistake(f"{argument} ignored", ignored, f"{step} = False", f"{step} = True"),
        mistake(f"{argument} the wrong way round", turned, f"{step} = not {argument}"),
    )


def conditional(*versions: str) -> Mistake:
    """Return the mistake of `a + b if flag else c` where `a + (b if flag else c)` is meant.

    Args:
        versions: The lines, e.g. "total = matrices + vectors if is_biased else 0".
    """
    return mistake("a conditional without brackets", "With one setting of the flag a whole term is gone. `a + b if "
                   "flag else c` reads as `(a + b) if flag else c`: how far does the condition reach, and how far "
                   "should it?", *versions)


SIZE = (
    mistake("numbers instead of bytes", "These are numbers, not bytes. How many bytes does one of them take?",
            "size = 1"),
    mistake("bits and bytes confused", "The bytes are eight times too many or too few. `bytes_per_element` is in bytes "
            "already.", "size = bytes_per_element * 8", "size = bytes_per_element / 8", "size = 1 / 8"),
    mistake("a size of number assumed", "The bytes of a number are not those given: 2, 4 or 8 were taken for granted. "
            "Which argument says it?", "size = 2", "size = 4", "size = 8", "size = bytes_per_element**2"),
)

CACHE = (
    mistake("keys and values counted once", "The bytes of a token are half of what they should be. Two things are kept "
            "of every token: which?", "kept = 1"),
    mistake("queries kept too", "The bytes of a token are half as many again, or twice as many: something is kept that "
            "no later token asks for. Who reads an old query again?", "kept = 3", "kept = 4"),
    mistake("the batch left out", "The bytes are those of one sequence, or the batch counts twice. Each sequence has "
            "tokens of its own.", "sequences = 1", "sequences = batch**2"),
    mistake("the layers left out", "The bytes are those of one layer, or the layers count twice. Which layer could use "
            "another one's keys?", "layers = 1", "layers = num_layers**2"),
    mistake("the heads left out", "The bytes are those of one head of keys and values, or the heads count twice. How "
            "many does a layer have?", "heads = 1", "heads = num_kv_heads**2"),
    mistake(
        "the width left out",
        "A key was counted as one number, or as a table of d_k × d_k. How many numbers is it?",
        "width = 1",
        "width = d_k**2",
    ),
    *SIZE,
)

GIB = (
    mistake("gigabytes of ten to the nine", "A GiB was taken for a GB. The i says that it is a power of two: which?",
            "unit = 10**9"),
    mistake("another unit", "The memory was taken in kibibytes, mebibytes or plain bytes, or powers of ten and of two "
            "are mixed. How many bytes is a GiB?",
            "unit = 1", "unit = 2**10", "unit = 2**20", "unit = 2**40", "unit = 10**6", "unit = 1000 * 2**20",
            "unit = 1024 * 10**6"),
)
