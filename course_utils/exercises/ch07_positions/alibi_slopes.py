"""Exercise: the slopes of ALiBi."""

from typing import Any

from course_utils.checking.exercise import Case, case, exercise
from course_utils.checking.inputs import given
from course_utils.checking.mistakes import mistake
from course_utils.checking.recipe import Function
from course_utils.exercises.shared.positions import made_dtype
from course_utils.positions import alibi_slopes
from torch import Tensor

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


def _gaps_alone(args: tuple[Any, ...], got: Tensor) -> bool:
    """Return whether only slopes of additional heads are wrong."""
    power = 1 << (args[0].bit_length() - 1)
    right = alibi_slopes(args[0])
    return power < args[0] and bool(((got - right).abs() <= 1e-5 * right)[:power].all())


def _nearly(args: tuple[Any, ...], got: Tensor) -> bool:
    right = alibi_slopes(args[0])
    return bool(((got - right).abs() <= 6e-3 * right + 1e-4).all())


def _geometric(args: tuple[Any, ...], got: Tensor) -> bool:
    """Return whether the slopes of a power of two fall by one factor."""
    if args[0] & (args[0] - 1) or not bool((got > 0).all()) or args[0] < 2:
        return False
    factors = got.double()[1:] / got.double()[:-1]
    return bool((factors < 0.999).all() and ((factors - factors[0]).abs() <= 1e-3 * factors[0]).all())


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
    mistake("the exponents cut to whole numbers", "With 16 heads the exponents are multiples of 1/2, and yours are "
            "whole numbers. Which division keeps fractions?",
            "series = lambda n: [2.0 ** (-8 * h // n) for h in range(1, n + 1)]",
            "series = lambda n: [2.0 ** -(8 * h // n) for h in range(1, n + 1)]",
            "series = lambda n: [2.0 ** (-h * (8 // n)) for h in range(1, n + 1)]",
            "series = lambda n: [2.0 ** (-h * max(8 // n, 1)) for h in range(1, n + 1)]"),
    mistake("always eight heads", "There are 8 slopes, however many heads are asked for. Where is `num_heads` used?",
            "slopes = torch.tensor(series(8))"),
    mistake("a slope more or less than heads", "There is one slope too many, or one too few. Where does the range of "
            "heads begin, and where does it end?", "slopes = torch.tensor((first + rest)[:-1])",
            "slopes = torch.tensor((first + rest)[1:])", "slopes = torch.tensor([1.0, *first, *rest])"),
    mistake("slopes with further axes", "The slopes are right, but they have axes of size 1 besides that of the heads. "
            "Those serve the bias; the exercise asks for a vector.",
            *(f"slopes = torch.tensor(first + rest).view({axes})"
              for axes in ("-1, 1, 1", "-1, 1", "1, -1", "1, -1, 1, 1", "1, -1, 1"))),
    made_dtype("slopes"),
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
    mistake("the gaps filled from the second slope on", "Some slopes come twice: the additional heads take slopes of "
            "the power of two, which are there already. Which slopes of twice as many heads are new?",
            "rest = between[1::2][:count]", "rest = between[1::4][:count]", "rest = first[0::2][:count]",
            "rest = (first[0::2] + [0.0] * num_heads)[:count]"),
    mistake("the gaps filled one after another", "The additional heads take the first slopes of twice as many heads, "
            "one after another. Every other one is there already.", "rest = between[:count]"),
    mistake("the gaps filled from the end", "The additional heads take the last slopes of twice as many heads. In "
            "which order does the exercise take them?", "rest = between[0::2][-count:] if count else []",
            "rest = between[0::2][::-1][:count]", "rest = between[-count:] if count else []",
            "rest = between[1::2][::-1][:count]"),
    mistake("the gaps filled from the third slope on", "The first of the gaps is left out: the additional heads take "
            "the 3rd, 5th, ... slope of twice as many heads. Which one comes first?", "rest = between[2::2][:count]"),
    mistake("all slopes in order of size", "The right slopes in another order: those that fill the gaps come last.",
            "slopes = torch.tensor(sorted(first + rest, reverse=True))", "slopes = torch.tensor(sorted(first + rest))"),
    mistake("the gaps filled first", "The right slopes in another order: those of the power of two come first.",
            "slopes = torch.tensor(rest + first)"),
    mistake("every other slope first", "For a power of two, too, the 1st, 3rd, 5th, ... slope come before the 2nd, "
            "4th, ... In which order are they there, and what is done only where the number of heads is no power of "
            "two?",
            "whole = series(1 << (num_heads - 1).bit_length())\n"
            "slopes = torch.tensor((whole[0::2] + whole[1::2])[:num_heads])"),
    mistake("the first slopes of the next power of two", "For 6 heads these are the first 6 of 8. The series of the "
            "lower power comes first, complete.",
            "power = 1 << (num_heads - 1).bit_length()", "power = 2 << (num_heads.bit_length() - 1)"),
    mistake("a power of two split once more", "For a power of two there should be no gaps to fill: yours starts from "
            "half of it. Take the largest power that is not above the number of heads.",
            "power = 1 << max((num_heads - 1).bit_length() - 1, 0)"),
    mistake("heads left without a slope", "There are fewer slopes than heads: those above the power of two have none, "
            "or some of them.",
            "rest = []", "rest = between[0::2][: max(count - 1, 0)]", "rest = between[0::4][:count]"),
    mistake("gaps left empty", "The additional heads have a slope of 0, or continue the series below 2⁻⁸.",
            "rest = [0.0] * count", "rest = [2.0 ** (-8 - 8 * h / power) for h in range(1, count + 1)]",
            "rest = [2.0**-8] * count"),
    mistake("other slopes in the gaps", "The slopes of the power of two are right, those of the additional heads are "
            "not. Write down the slopes of twice as many heads: which of them are not there yet, and in which order?",
            "rest = [2.0 ** (-8 * h / num_heads) for h in range(power + 1, num_heads + 1)]",
            "rest = [2.0 ** (-8 * h / num_heads) for h in range(1, 2 * count, 2)]",
            "rest = series(4 * power)[0::2][:count]", "rest = series(4 * power)[0::4][:count]", matches=_gaps_alone),
    mistake("digits lost", "The slopes are right to two or three digits only. Were they rounded, or kept in 16 bits?",
            "slopes = torch.tensor(first + rest).bfloat16().float()",
            "slopes = torch.tensor(first + rest).round(decimals=4)", matches=_nearly),
    mistake("another factor from head to head", "The slopes fall by a constant factor, but it is not the exercise's, "
            "or the first one is another. What are the first and the last slope of 4 heads?",
            "series = lambda n: [2.0 ** (-8 * h / (n + 1)) for h in range(1, n + 1)]",
            "series = lambda n: [2.0 ** (-1 - 7 * (h - 1) / max(n - 1, 1)) for h in range(1, n + 1)]",
            "series = lambda n: [2.0 ** (-8 * (h - 0.5) / n) for h in range(1, n + 1)]", matches=_geometric),
    mistake("a list", "A list came back, where a tensor is asked for. What makes one of a list of numbers?",
            "return (first + rest)[:num_heads]", "return list(slopes)"),
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
        *map(_heads, (6, 7, 3, 5, 12, 20, 40)),
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
