"""Exercise: how many tokens fit into the memory that is left."""

from course_utils.checking.exercise import case, exercise
from course_utils.checking.inputs import given
from course_utils.checking.mistakes import adding, mistake, saying, without
from course_utils.exercises.shared.counts import CACHE, GIB, INTEGER
from course_utils.measure import cache_fits

RIGHT = """
def cache_fits(gib, num_layers, num_kv_heads, d_k, bytes_per_element, batch):
    unit = 2**30
    memory = gib * unit
    kept = 2
    layers = num_layers
    heads = num_kv_heads
    width = d_k
    sequences = batch
    size = bytes_per_element
    token = kept * layers * heads * width * sequences * size
    exact = memory / token
    total = math.floor(exact)
    return total
"""

_SIZES = {
    "kept": "2", "layers": "num_layers", "heads": "num_kv_heads", "width": "d_k", "sequences": "batch",
    "size": "bytes_per_element",
}  # fmt: skip


def _left_to_right(first: str) -> str:
    """Return the division by one of the sizes, and the product with the others that stands behind it."""
    return f"exact = memory / {first} * " + " * ".join(name for name in _SIZES if name != first)


EXERCISE = exercise(
    cache_fits,
    right=RIGHT,
    asks="Count the whole tokens of each sequence whose keys and values fit into the given GiB.",
    minutes=5,
    difficulty=1,
    importance=4,
    cases=(
        # No size is a product of others, so that no two mistakes are off by the same factor.
        case("13 GiB, 5 layers, 7 heads of width 106, 3 bytes, 11 sequences", given(13, 5, 7, 106, 3, 11)),
        case("3 GiB, 5 layers, 7 heads of width 96, 2 bytes, 3 sequences", given(3, 5, 7, 96, 2, 3)),
        case("2 GiB, 6 layers, one head, 4 bytes", given(2, 6, 1, 80, 4, 5)),
        case("one layer, one sequence", given(1, 1, 3, 56, 2, 1)),
        case("numbers of one byte", given(1, 7, 5, 72, 1, 3)),
        case("numbers of 8 bytes", given(3, 3, 6, 40, 8, 7)),
        case("half a GiB", given(0.5, 5, 3, 112, 2, 3)),
        case("2.75 GiB", given(2.75, 11, 3, 64, 2, 7)),
        case("an exact fill", given(1, 4, 8, 64, 2, 2)),
        case("a little less than the next token needs", given(1, 7, 3, 64, 4, 5)),
        case("a little short of even one token", given(0.001, 61, 64, 128, 2, 16)),
        case("very little memory", given(0.0001, 2, 3, 20, 2, 1)),
        case("no memory", given(0, 2, 3, 20, 2, 1)),
        case("4 GiB", given(4, 3, 2, 36, 2, 1)),
        case("32 layers, 8 heads of width 128, 16 GiB", given(16, 32, 8, 128, 2, 1)),
        case("80 layers, 64 heads, 640 GiB, 16 sequences", given(640, 80, 64, 128, 2, 16)),
        case("a count that float32 cannot hold", given(70, 1, 1, 3, 1, 1)),
    ),
    mistakes=(
        *saying(CACHE, {
            "the batch left out": "The bytes of one more token are those of one sequence, or the batch counts twice. "
                "All sequences grow together: how many tokens does each get?",
            "keys and values counted once": "Twice as many tokens as there is room for. Two things are kept of every "
                "token: which?",
        }),
        mistake("the tokens of the whole batch", "These are the tokens of all sequences together. How many does each "
                "sequence get?", "sequences = 1\nreturn total * batch", "return total * batch"),
        *GIB,
        mistake("whole GiB only", "The decimals of the GiB were lost. When should you round?",
                "memory = int(gib) * unit", "memory = round(gib) * unit", "memory = math.ceil(gib) * unit"),
        mistake("rounded up", "The last token counted does not fit as a whole. In which direction must a capacity be "
                "rounded?", "total = math.ceil(exact)", "total = round(exact)", "total = math.floor(exact) + 1"),
        mistake("one token too few", "One more token fits: an exact fill is allowed.", "total = math.floor(exact) - 1",
                "total = max(math.floor(exact) - 1, 0)", "total = math.ceil(exact) - 1"),
        mistake("at least one token", "Where not even one token fits, the answer is 0.",
                "total = max(math.floor(exact), 1)"),
        mistake("a fraction of a token", "A part of a token was counted. What can be stored of a token that does not "
                "fit as a whole?", "return exact"),
        mistake("multiplied instead of divided", "The number grows with the size of a token, or was divided the other "
                "way round. A larger token takes more room: what does that do to how many fit?",
                "total = int(memory) * token", "total = int(gib * token)", "total = int(token / max(memory, 1))"),
        mistake("a size on the wrong side of the division", "A size multiplies the memory instead of the bytes of a "
                "token: `a / b * c` is (a / b) · c. Which sizes make a token larger, and so leave room for fewer?",
                *(f"{name} = 1 / {size}" for name, size in _SIZES.items()), *map(_left_to_right, _SIZES)),
        mistake("the width divided by the heads", "d_k was divided by the number of heads. Is it the width of the "
                "stream, or of one head?", "width = d_k // num_kv_heads"),
        mistake("bytes instead of tokens", "These are bytes: those of one token, or all that there are. How often does "
                "the one fit into the other?", "return token", "return token // batch", "return int(memory)",
                "return int(memory / batch)"),
        mistake("rounded before the last division", "Something was rounded too early, or to a multiple of a number. "
                "Divide by the bytes of one whole token, once.", "memory = gib // num_layers * num_layers * unit",
                "memory = gib // batch * batch * unit",
                "total = math.floor(exact) // 2 * 2", "total = 2 ** int(math.log2(exact)) if exact >= 1 else 0",
                "total = math.floor(exact) // 10 * 10", "total = math.floor(exact) // 16 * 16"),
        mistake("added instead of multiplied", "Two sizes were added to each other. Twice the layers are twice the "
                "bytes of a token.", "token = kept * (layers + heads) * width * sequences * size",
                "token = kept * layers * (heads + width) * sequences * size",
                "token = kept * layers * heads * width * (sequences + size)",
                "token = kept * layers * heads * width * size + sequences",
                "token = kept * layers * heads * width * sequences + size", "token = kept + layers * heads * width * "
                "sequences * size", "token = (kept + layers) * heads * width * sequences * size",
                "token = kept * (layers + heads + width + sequences + size)"),
        *adding(
            saying(without(INTEGER, *(f"return total / {unit}" for unit in ("1e3", "1e6", "1e9"))), {
                "a tensor": "The count came as a tensor. Return a Python `int`, which has no largest number.",
            }),
            {
                "overflow": (
                    "memory = (int(gib * unit) + 2**31) % 2**32 - 2**31", "memory = int(gib * unit) % 2**32",
                    "memory = min(int(gib * unit), 2**31 - 1)", "total = int(torch.tensor(exact, dtype=torch.float32))",
                    "total = int(torch.tensor(exact, dtype=torch.float16))",
                ),
            },
        ),
        mistake("more than the number", "More than one number came back. Return the count of tokens alone.",
                "return divmod(int(memory), token)", "return total, total * batch", "return (total,)",
                "return [total]"),
    ),
    hints=(
        "How many bytes does one token take in one sequence? `kv_cache_bytes` of chapter 08 knows.",
        "All sequences grow together: one more token per sequence costs `batch` times that.",
        "A GiB is 2**30 bytes. Divide, and round down to a whole number of tokens.",
    ),
)
