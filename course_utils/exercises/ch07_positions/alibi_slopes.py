"""Exercise: the slopes of ALiBi."""

from course_utils.checking.exercise import Case, case, exercise
from course_utils.checking.inputs import given
from course_utils.checking.mistakes import mistake
from course_utils.checking.recipe import Function
from course_utils.positions import alibi_slopes

RIGHT = """
def alibi_slopes(num_heads):
    power = 1 << (num_heads.bit_length() - 1)
    series = lambda n: [2.0 ** (-8 * h / n) for h in range(1, n + 1)]
    first = series(power)[:num_heads]
    count = num_heads - len(first)
    between = series(2 * power)
    rest = between[0::2][:count]
    slopes = torch.tensor(first + rest)
    return slopes
"""


def _each(slope: str) -> str:
    """Return the line that makes slopes from the number `h` of the head, from 1, alone."""
    return f"slopes = torch.tensor([float({slope}) for h in range(1, num_heads + 1)])"


SERIES = (
    mistake("a geometric series from 1", "The first slope is 1: the series begins one step too early. h counts from 1.",
            "series = lambda n: [2.0 ** (-8 * h / n) for h in range(n)]", _each("2.0 ** (-8 * (h - 1) / num_heads)"),
            "series = lambda n: [2.0 ** (-8 * h / max(n - 1, 1)) for h in range(n)]"),
    mistake("the formula of a power of two for every number of heads", "Right for 1, 2, 4, 8, ... heads. For other "
            "numbers the series of the next lower power comes first, and others fill the gaps.",
            _each("2.0 ** (-8 * h / num_heads)")),
    mistake("halved from head to head, whatever their number", "For 8 heads this is right: 1/2, 1/4, ... The ratio "
            "depends on the number of heads, and the last slope is always 2⁻⁸.",
            "series = lambda n: [2.0**-h for h in range(1, n + 1)]", _each("2.0**-h")),
    mistake("negative slopes", "The slopes have the wrong sign. Where does the minus belong: in the slope, or in the "
            "bias?", "slopes = -torch.tensor(first + rest)"),
    mistake("positive exponent", "The slopes grow beyond 1, so even the nearest key would be lost. Which sign should "
            "the exponent have?", "series = lambda n: [2.0 ** (8 * h / n) for h in range(1, n + 1)]"),
    mistake("multiplied by the number of heads instead of divided", "The slopes vanish: the exponent is 8h divided by "
            "the number of heads.", "series = lambda n: [2.0 ** (-8 * h * n) for h in range(1, n + 1)]",
            "series = lambda n: [2.0 ** (-8 * h) for h in range(1, n + 1)]",
            "series = lambda n: [2.0 ** (-n * h / 8) for h in range(1, n + 1)]"),
    mistake(
        "8 missing from the exponent",
        "With one head the slope should be 2⁻⁸. Which number belongs in the exponent besides h and the heads?",
        *(f"series = lambda n: [2.0 ** (-{factor} * h / n) for h in range(1, n + 1)]" for factor in (1, 4, 16, 10)),
    ),
    mistake("another base than 2", "The ratio from head to head is not a power of 2. Which base is raised to the "
            "exponents?", "series = lambda n: [math.exp(-8 * h / n) for h in range(1, n + 1)]",
            "series = lambda n: [10.0 ** (-8 * h / n) for h in range(1, n + 1)]"),
    mistake("slopes on a line", "The slopes fall by a constant step; they should fall by a constant factor.",
            _each("1 - (h - 1) / num_heads"), _each("h / num_heads"), _each("1 / h"), _each("1 / num_heads"),
            _each("1 / (h + 1)"), "slopes = torch.linspace(2 ** (-8 / num_heads), 2.0**-8, num_heads)",
            "slopes = torch.linspace(1, 2.0**-8, num_heads)"),
    mistake("exponents without slopes", "These are the exponents. What is raised to them?",
            _each("-8 * h / num_heads"), _each("8 * h / num_heads")),
    mistake("all slopes alike", "Every head has the same slope. Then no head could look further than another.",
            _each("2.0**-8"), _each("0.5"), _each("1.0"), _each("2.0 ** (-8 / num_heads)")),
    mistake("in reverse", "The first head has the smallest slope; it should have the largest of its series.",
            "slopes = torch.tensor((first + rest)[::-1])", "first = series(power)[:num_heads][::-1]"),
    mistake("slopes learned", "The slopes are a parameter that training would change. ALiBi's are fixed beforehand: it "
            "has no parameters.", "slopes = torch.nn.Parameter(torch.tensor(first + rest))",
            "slopes = torch.nn.Parameter(torch.ones(num_heads))", "slopes = torch.nn.Parameter(torch.zeros(num_heads))",
            "slopes = torch.nn.Parameter(torch.full((num_heads,), 0.5))"),
    mistake(
        "slopes drawn at random",
        "Every call gives different slopes. ALiBi's are fixed: 2 raised to certain exponents.",
        "slopes = torch.rand(num_heads)",
        detects=lambda trace: trace.used_global_random,
    ),
)

GAPS = (
    mistake("the gaps filled from the second slope on", "Some slopes come twice: the additional heads take the 2nd, "
            "4th, ... slope of twice as many heads, which are there already. Which ones are new?",
            "rest = between[1::2][:count]", "rest = between[1::4][:count]"),
    mistake("the gaps filled one after another", "The additional heads take the first slopes of twice as many heads, "
            "one after another. Every other one is there already.", "rest = between[:count]"),
    mistake("the gaps filled from the end", "The additional heads take the last slopes of twice as many heads. In "
            "which order does the exercise take them?", "rest = between[0::2][-count:] if count else []",
            "rest = between[0::2][::-1][:count]", "rest = between[-count:] if count else []"),
    mistake("all slopes in order of size", "The right slopes in another order: those that fill the gaps come last.",
            "slopes = torch.tensor(sorted(first + rest, reverse=True))", "slopes = torch.tensor(sorted(first + rest))"),
    mistake("the gaps filled first", "The right slopes in another order: those of the power of two come first.",
            "slopes = torch.tensor(rest + first)"),
    mistake("the first slopes of the next power of two", "For 6 heads these are the first 6 of 8. The series of the "
            "lower power comes first, complete.",
            "power = 1 << (num_heads - 1).bit_length()", "power = 2 << (num_heads.bit_length() - 1)"),
    mistake("a power of two split once more", "For a power of two there should be no gaps to fill: yours starts from "
            "half of it. Take the largest power that is not above the number of heads.",
            "power = 1 << max((num_heads - 1).bit_length() - 1, 0)"),
    mistake("heads left without a slope", "There are fewer slopes than heads: those above the power of two have none.",
            "rest = []"),
    mistake("gaps left empty", "The additional heads have a slope of 0, or continue the series below 2⁻⁸.",
            "rest = [0.0] * count", "rest = [2.0 ** (-8 - 8 * h / power) for h in range(1, count + 1)]",
            "rest = [2.0**-8] * count"),
)


def _would_train(fn: Function, num_heads: int) -> bool:
    return bool(fn(num_heads).requires_grad)


def _heads(count: int) -> Case:
    return case(f"{count} head{'s' if count > 1 else ''}", given(count))


EXERCISE = exercise(
    alibi_slopes,
    right=RIGHT,
    asks="Return the slope of each head: how fast its scores fall with the distance.",
    minutes=10,
    difficulty=2,
    importance=3,
    cases=(
        *map(_heads, (8, 2, 1, 4, 16)),
        case("whether training would change them", given(8), run=_would_train,
             says="The slopes require a gradient, so training would change them. ALiBi's are fixed."),
        *map(_heads, (3, 6, 5, 12, 7, 20, 40)),
    ),
    mistakes=(*SERIES, *GAPS),
    hints=(
        "For 8 heads the slopes are 1/2, 1/4, ..., 1/256. What are they for 4 heads, if the last one stays 1/256?",
        "For a power of two, write the exponents first: multiples of -8/n.",
        "`num_heads.bit_length()` or `math.floor(math.log2(num_heads))` leads to the largest power of two.",
        "For 6 heads: the slopes of 4, then 2 more from the slopes of 8. Of those 8, every second one is among the 4 "
        "already: which ones are new?",
    ),
)
