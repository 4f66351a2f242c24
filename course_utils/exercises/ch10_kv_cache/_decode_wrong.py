"""A decoding step with exchangeable parts: a mistake exchanges one of them."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from course_utils.attention import scaled_dot_product_attention
from course_utils.checking.exercise import Function
from course_utils.exercises.ch03_scaled_dot_product._attention import build as attention

Rule = Callable[[Tensor, Tensor, int], Tensor]
Take = Callable[[Tensor, int, int], Tensor]


def filled(cache: Tensor, length: int, new: int) -> Tensor:
    """Take the slots that are filled, as it should be done."""
    return cache[:, :, :length]


def past(own: Tensor, place: Tensor, new: int) -> Tensor:
    """Let each position see itself and what comes before, as it should be."""
    return place <= own


def build(
    attend: Function = scaled_dot_product_attention,
    keys: Take = filled,
    values: Take | None = None,
    sees: Rule = past,
    finish: Callable[[Tensor], Any] = lambda out: out,
) -> Function:
    """Return a decoding step with some of its parts exchanged.

    Args:
        attend: Attention inside the heads.
        keys: Which keys are read: from the cache, the length and the number of queries.
        values: Which values are, if otherwise.
        sees: Which slots a query may see: from its own position, those of all slots, and T.
        finish: What is made of the output.
    """

    def wrong(query: Tensor, cache_key: Tensor, cache_value: Tensor, length: int) -> Any:
        new = query.shape[2]
        key, value = keys(cache_key, length, new), (values or keys)(cache_value, length, new)
        own = torch.arange(length - new, length).unsqueeze(-1)
        mask = sees(own, torch.arange(key.shape[2]), new)
        return finish(attend(query, key, value, mask.expand(new, key.shape[2])))

    return wrong


def inside(**steps: Any) -> Function:
    """Return a decoding step with some steps of attention exchanged."""
    return build(attend=attention(**steps))


def everything(cache: Tensor, length: int, new: int) -> Tensor:
    """Take all slots, filled or not."""
    return cache
