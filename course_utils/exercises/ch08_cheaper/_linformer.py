"""Linformer's attention with exchangeable steps: a mistake exchanges one of them."""

from collections.abc import Callable
from typing import Any

from torch import Tensor

from course_utils.attention import scaled_dot_product_attention
from course_utils.checking.exercise import Function
from course_utils.exercises.ch03_scaled_dot_product._attention import build as attention


def build(
    keys: Callable[[Tensor, Tensor, Tensor], Tensor] = lambda k, E, F: E.mT @ k,
    values: Callable[[Tensor, Tensor, Tensor], Tensor] = lambda v, E, F: F.mT @ v,
    attend: Function = scaled_dot_product_attention,
) -> Function:
    """Return Linformer's attention with some steps exchanged: the mixing, or the attention."""

    def wrong(query: Tensor, key: Tensor, value: Tensor, E: Tensor, F: Tensor) -> Any:
        return attend(query, keys(key, E, F), values(value, E, F))

    return wrong


def both(mix: Callable[[Tensor, Tensor], Tensor]) -> Function:
    """Return a version that mixes keys and values in the same other way."""
    return build(lambda k, E, F: mix(k, E), lambda v, E, F: mix(v, F))


def inside(**steps: Any) -> Function:
    """Return Linformer's attention with some steps exchanged inside the attention."""
    return build(attend=attention(**steps))
