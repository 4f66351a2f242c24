"""ALiBi's slopes with exchangeable steps: a mistake exchanges one of them."""

from collections.abc import Callable

import torch
from torch import Tensor

from course_utils.checking.exercise import Function, Misconception


def below(num_heads: int) -> int:
    """Return the largest power of two that is not above the number."""
    return 1 << (num_heads.bit_length() - 1)


def geometric(count: int) -> list[float]:
    """Return the slopes of a power of two."""
    return [2.0 ** (-8 * h / count) for h in range(1, count + 1)]


def build(
    series: Callable[[int], list[float]] = geometric,
    power: Callable[[int], int] = below,
    rest: Callable[[list[float], int], list[float]] = lambda twice, count: twice[0::2][:count],
) -> Function:
    """Return the slopes with some steps exchanged.

    Args:
        series: The slopes of a power of two.
        power: Which power of two the heads are split at.
        rest: What the remaining heads take from the series of twice as many.
    """

    def slopes(num_heads: int) -> Tensor:
        n = power(num_heads)
        made = series(n)[:num_heads]
        return torch.tensor(made + rest(series(2 * n), num_heads - len(made)))

    return slopes


def each(slope: Callable[[int, int], float]) -> Function:
    """Return slopes from the number of the head, from 1, and the number of heads."""
    return lambda n: torch.tensor([float(slope(h, n)) for h in range(1, n + 1)])


def of(name: str, says: str, *versions: Function) -> Misconception:
    """Return a mistake with its versions."""
    return Misconception(name, versions[0], says, also=versions[1:])
