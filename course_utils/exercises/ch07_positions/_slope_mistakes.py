"""What goes wrong in ALiBi's slopes: each mistake as something to run."""

import math

import torch
from torch import nn

from course_utils.checking.exercise import Misconception
from course_utils.exercises.ch07_positions._slope_gap_mistakes import GAPS
from course_utils.exercises.ch07_positions._slope_wrong import build, each, geometric, of
from course_utils.positions import alibi_slopes

SERIES = (
    of(
        "a geometric series from 1",
        "The first slope is 1: the series begins one step too early. h counts from 1.",
        build(lambda n: [2.0 ** (-8 * h / n) for h in range(n)]),
        each(lambda h, n: 2.0 ** (-8 * (h - 1) / n)),
        build(lambda n: [2.0 ** (-8 * h / max(n - 1, 1)) for h in range(n)]),
    ),
    of(
        "the formula of a power of two for every number of heads",
        "Right for 1, 2, 4, 8, ... heads. For other numbers the series of the next lower power "
        "comes first, and others fill the gaps.",
        each(lambda h, n: 2.0 ** (-8 * h / n)),
    ),
    of(
        "halved from head to head, whatever their number",
        "For 8 heads this is right: 1/2, 1/4, ... The ratio depends on the number of heads, and "
        "the last slope is always 2⁻⁸.",
        build(lambda n: [2.0**-h for h in range(1, n + 1)]),
        each(lambda h, n: 2.0**-h),
    ),
    of(
        "negative slopes",
        "The slopes have the wrong sign. Where does the minus stand: in the slope, or in the bias?",
        lambda n: -alibi_slopes(n),
    ),
    of(
        "positive exponent",
        "The slopes grow beyond 1, so that the next key would be lost already. Which sign has "
        "the exponent?",
        build(lambda n: [2.0 ** (8 * h / n) for h in range(1, n + 1)]),
    ),
    of(
        "multiplied by the number of heads instead of divided",
        "The slopes vanish: the exponent is 8h divided by the number of heads.",
        build(lambda n: [2.0 ** (-8 * h * n) for h in range(1, n + 1)]),
        build(lambda n: [2.0 ** (-8 * h) for h in range(1, n + 1)]),
        build(lambda n: [2.0 ** (-n * h / 8) for h in range(1, n + 1)]),
    ),
    of(
        "8 missing from the exponent",
        "With one head the slope should be 2⁻⁸. Which number stands in the exponent besides h and "
        "the number of heads?",
        build(lambda n: [2.0 ** (-h / n) for h in range(1, n + 1)]),
        build(lambda n: [2.0 ** (-4 * h / n) for h in range(1, n + 1)]),
        build(lambda n: [2.0 ** (-16 * h / n) for h in range(1, n + 1)]),
        build(lambda n: [2.0 ** (-10 * h / n) for h in range(1, n + 1)]),
    ),
    of(
        "another base than 2",
        "The ratio from head to head is not a power of 2. Which base is raised to the exponents?",
        build(lambda n: [math.exp(-8 * h / n) for h in range(1, n + 1)]),
        build(lambda n: [10.0 ** (-8 * h / n) for h in range(1, n + 1)]),
    ),
    of(
        "slopes on a line",
        "The slopes fall by a constant step; they should fall by a constant factor.",
        each(lambda h, n: 1 - (h - 1) / n),
        each(lambda h, n: h / n),
        each(lambda h, n: 1 / h),
        each(lambda h, n: 1 / n),
        each(lambda h, n: 1 / (h + 1)),
        lambda n: torch.linspace(2 ** (-8 / n), 2.0**-8, n),
        lambda n: torch.linspace(1, 2.0**-8, n),
    ),
    of(
        "exponents without slopes",
        "These are the exponents. What is raised to them?",
        each(lambda h, n: -8 * h / n),
        each(lambda h, n: 8 * h / n),
    ),
    of(
        "all slopes alike",
        "Every head has the same slope. Then no head could look further than another.",
        each(lambda h, n: 2.0**-8),
        each(lambda h, n: 0.5),
        each(lambda h, n: 1.0),
        each(lambda h, n: 2.0 ** (-8 / n)),
    ),
    of(
        "in reverse",
        "The first head has the smallest slope; it should have the largest of its series.",
        lambda n: alibi_slopes(n).flip(0),
        build(lambda n: geometric(n)[::-1], rest=lambda twice, count: twice[::-1][0::2][:count]),
    ),
    Misconception(
        "slopes learned",
        lambda n: nn.Parameter(alibi_slopes(n)),
        "The slopes are a parameter that training would change. ALiBi's are fixed beforehand: it "
        "has not one parameter.",
        also=(
            lambda n: nn.Parameter(torch.ones(n)),
            lambda n: nn.Parameter(torch.zeros(n)),
            lambda n: nn.Parameter(torch.full((n,), 0.5)),
        ),
    ),
    Misconception(
        "slopes drawn at random",
        lambda n: torch.rand(n),
        "Every call gives other slopes. ALiBi's are fixed: 2 raised to certain exponents.",
        sign=lambda trace: trace.used_global_random,
    ),
)

MISCONCEPTIONS = (*SERIES, *GAPS)
