"""The soft lookup with exchangeable steps: a mistake exchanges one of them."""

from collections.abc import Callable
from typing import Any

from torch import Tensor

from course_utils.checking.exercise import Function
from course_utils.exercises.ch03_scaled_dot_product._attention import build as attention


def build(
    heat: Callable[[float], float] = lambda temperature: 1 / temperature,
    factor: Callable[..., float] = lambda query, key, value: 1.0,
    **steps: Any,
) -> Function:
    """Return a lookup with some of its steps exchanged.

    Args:
        heat: The factor that a temperature puts on the scores.
        factor: Another factor, from query, key and value.
        steps: Further steps of attention.
    """

    def lookup(query: Tensor, key: Tensor, value: Tensor, temperature: float) -> Any:
        def used(*given: Tensor) -> float:
            return factor(*given) * heat(temperature)

        return attention(**steps, factor=used)(query, key, value)

    return lookup
