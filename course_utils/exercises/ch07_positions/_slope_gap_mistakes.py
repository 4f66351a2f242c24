"""What goes wrong with ALiBi's slopes between powers of two: each mistake as something to run."""

import torch

from course_utils.exercises.ch07_positions._slope_wrong import below, build, of
from course_utils.positions import alibi_slopes

GAPS = (
    of(
        "the gaps filled from the second slope on",
        "Some slopes come twice: the additional heads take the 2nd, 4th, ... slope of twice as "
        "many heads, which are there already. Which ones are new?",
        build(rest=lambda twice, count: twice[1::2][:count]),
        build(rest=lambda twice, count: twice[1::4][:count]),
    ),
    of(
        "the gaps filled one after another",
        "The additional heads take the first slopes of twice as many heads, one after another. "
        "Every other one is there already.",
        build(rest=lambda twice, count: twice[:count]),
    ),
    of(
        "the gaps filled from the end",
        "The additional heads take the last slopes of twice as many heads. In which order does "
        "the exercise take them?",
        build(rest=lambda twice, count: twice[0::2][-count:] if count else []),
        build(rest=lambda twice, count: twice[0::2][::-1][:count]),
        build(rest=lambda twice, count: twice[-count:] if count else []),
    ),
    of(
        "all slopes in order of size",
        "The right slopes in another order: those that fill the gaps come last.",
        lambda n: alibi_slopes(n).sort(descending=True).values,
        lambda n: alibi_slopes(n).sort().values,
    ),
    of(
        "the gaps filled first",
        "The right slopes in another order: those of the power of two come first.",
        lambda n: torch.cat((alibi_slopes(n)[below(n) :], alibi_slopes(n)[: below(n)])),
    ),
    of(
        "the first slopes of the next power of two",
        "For 6 heads these are the first 6 of 8. The series of the lower power comes whole.",
        build(power=lambda n: 1 << (n - 1).bit_length()),
        build(power=lambda n: 2 * below(n)),
    ),
    of(
        "a power of two split once more",
        "For a power of two nothing is left over: it was split at half of it. The power is the "
        "largest that is not above the number of heads.",
        build(power=lambda n: 1 << max((n - 1).bit_length() - 1, 0)),
    ),
    of(
        "heads left without a slope",
        "There are fewer slopes than heads: those above the power of two have none.",
        build(rest=lambda twice, count: []),
    ),
    of(
        "gaps left empty",
        "The additional heads have a slope of 0, or continue the series below 2⁻⁸.",
        build(rest=lambda twice, count: [0.0] * count),
        build(
            rest=lambda twice, count: [
                2.0 ** (-8 - 16 * h / len(twice)) for h in range(1, count + 1)
            ]
        ),
        build(rest=lambda twice, count: [2.0**-8] * count),
    ),
)
