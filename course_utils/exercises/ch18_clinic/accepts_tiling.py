"""Exercise: a test that accepts every right tiled attention, and attention without tiles too."""

from course_utils.checking.exercise import exercise
from course_utils.checking.mistakes import adding, mistake
from course_utils.clinic import accepts_tiling
from course_utils.exercises.shared.planted import VERDICT, global_random, planted
from course_utils.exercises.shared.planted import attempt as attempt
from course_utils.exercises.shared.planted import caught as caught
from course_utils.exercises.shared.planted import close as close
from course_utils.exercises.shared.planted import draw as draw
from course_utils.exercises.shared.planted import near as near
from course_utils.exercises.shared.planted import shape as shape
from torch.nn import functional as functional

RIGHT = """
def accepts_tiling(tiled):
    implementation = tiled
    generator = torch.Generator().manual_seed(0)
    B, H, L, S, d_k, d_v = 2, 3, 5, 7, 4, 6
    blocks = (1, 2, 3, 7, 10)
    sizes = (1.0, 20.0)
    answers = []
    for size in sizes:
        query = size * draw(generator, B, H, L, d_k)
        key = size * draw(generator, B, H, S, d_k)
        value = draw(generator, B, H, S, d_v)
        want = scaled_dot_product_attention(query, key, value)
        for block in blocks:
            handed = (query, key, value, block)
            out = attempt(implementation, *handed)
            same = close(out, want)
            answers.append(same)
    accepted = all(answers)
    return accepted
"""

EXERCISE = exercise(
    accepts_tiling,
    right=RIGHT,
    asks="Write a test that accepts every right attention by tiles of keys and refuses every faulty one.",
    minutes=10,
    difficulty=3,
    importance=4,
    cases=planted("accepts_tiling"),
    mistakes=(
        *adding(VERDICT, {"equality to the last bit": (
            "want = functional.scaled_dot_product_attention(query, key, value)\n"
            "same = torch.equal(out, want) if shape(out) else False",),
            "errors that escape": ("out = caught(ValueError, implementation, *handed)",)}),
        global_random("query = size * torch.randn(B, H, L, d_k, dtype=torch.float64)"),
        mistake("too much room", "Faults that change the numbers are forgiven: the tolerance is far larger than "
                "rounding.", *(f"same = near(out, want, {room})" for room in (0.01, 0.1, 0.3, 0.5, 2.0, 3.0))),
        mistake("a law instead of the numbers", "The outputs for different blocks are compared with each other, and an "
                "implementation may be wrong in the same way for all. With what must the numbers agree?",
                "want = attempt(implementation, query, key, value, 64)\n"
                "same = shape(want) is not None and close(out, want)"),
        mistake("one tile", "Every call takes all keys at once, so nothing between two tiles is ever tried. For which "
                "blocks does a second tile come?", "blocks = (7,)", "blocks = (10,)", "blocks = (7, 10)",
                "blocks = (64,)"),
        mistake("blocks that divide", "Every block divides the number of keys. What happens to the keys that are left "
                "over?", "blocks = (1,)", "blocks = (1, 7)",
                "B, H, L, S, d_k, d_v = 2, 3, 5, 6, 4, 7\nblocks = (1, 2, 3, 6)",
                "B, H, L, S, d_k, d_v = 2, 3, 5, 16, 4, 6\nblocks = (4,)",
                "B, H, L, S, d_k, d_v = 2, 3, 5, 8, 4, 6\nblocks = (2, 4)"),
        mistake("an overflow not noticed", "The exponential of a large score overflows, and what it leaves is NaN. "
                "Does this test have scores that large, and does its comparison refuse NaN?", "sizes = (1.0,)",
                "sizes = (0.5, 2.0)",
                "same = shape(out) == want.shape and not ((out - want).abs() > 1e-8).any()"),
        mistake("inputs that are all alike", "Equal scores stay equal, whatever their scale, and the average of equal "
                "values, or of one, is that value. Which numbers must differ, and by how much? Or are they not "
                "compared at all?", "sizes = (1e-9,)", "sizes = (0.0,)",
                "query = torch.zeros(B, H, L, d_k, dtype=torch.float64)",
                "query = torch.ones(B, H, L, d_k, dtype=torch.float64)\n"
                "key = torch.ones(B, H, S, d_k, dtype=torch.float64)",
                "value = torch.ones(B, H, S, d_v, dtype=torch.float64)",
                "value = torch.zeros(B, H, S, d_v, dtype=torch.float64)", "B, H, L, S, d_k, d_v = 2, 3, 5, 1, 4, 6"),
        mistake("a missing scale not noticed", "An attention without a scale was accepted. Where one score is far "
                "above the others, the softmax is 1 there, scaled or not; and a wide tolerance forgives the rest. "
                "Which inputs, and which comparison, show "
                "it?", "sizes = (300.0,)", "sizes = (1000.0,)", "same = near(out, want, 1.0)"),
        mistake("sizes that are equal", "A wrong size gives the right result by chance: two sizes are equal, or there "
                "are more queries than keys. Which sizes may be taken for each other?",
                "B, H, L, S, d_k, d_v = 2, 3, 7, 7, 4, 6", "B, H, L, S, d_k, d_v = 2, 3, 5, 7, 4, 4",
                "B, H, L, S, d_k, d_v = 2, 3, 7, 7, 4, 4", "B, H, L, S, d_k, d_v = 2, 3, 9, 7, 4, 6",
                "B, H, L, S, d_k, d_v = 2, 3, 9, 7, 4, 4"),
        mistake("a wrong scale expected", "The test's own formula scales differently from the contract, so right "
                "implementations are refused. By what are the scores divided?",
                "want = scaled_dot_product_attention(query, key, value, scale=1.0)"),
        mistake("inputs of another dtype", "The implementations are promised float64, and some of them take nothing "
                "else. Which dtype do these inputs have?",
                "handed = (query.float(), key.float(), value.float(), block)\nsame = near(out, want, 1e-3)"),
        mistake("another number of axes", "The contract names four axes: batch, heads, tokens, width. Some "
                "implementations take no other number.", "handed = (query[0], key[0], value[0], block)\n"
                "same = close(out, want[0])"),
        mistake("more than the contract promises", "Something was demanded that the contract does not speak of: an "
                "error for a block of 0, say, or a certain way of working. What may an implementation do there?",
                "accepted = all(answers) and attempt(implementation, query, key, value, 0) is None",
                "accepted = all(answers) and attempt(implementation, query, key[..., :0, :], value[..., :0, :], 2) is "
                "not None"),
        mistake("a block that is not allowed", "The contract promises a block of at least 1, an int, and some "
                "implementations take no other.", "blocks = (0, 1, 2, 3, 7, 10)", "blocks = (1, 2, 3, 7, 10, 0)",
                "blocks = (1.0, 2.0, 3.0, 10.0)", "blocks = (-1, 1, 2, 3, 7, 10)"),
    ),
    hints=(
        "With one tile all of these are plain attention. Which blocks make two tiles, and which leave a remainder?",
        "A running maximum shows only where a score is so large that its exponential overflows, and a rescaling only "
        "where the maximum rises from one tile to the next.",
        "If there are as many queries as keys, or values as wide as queries, nobody sees which one was counted.",
        "The package has plain attention to compare with. Each call goes in a `try`, and each output is compared to "
        "rounding; NaN is not near anything.",
    ),
)  # fmt: skip
