"""Attention over a window, written densely, with exchangeable steps: a mistake exchanges one."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from course_utils.attention import scaled_dot_product_attention, window_mask
from course_utils.checking.exercise import Function
from course_utils.exercises.ch03_scaled_dot_product._attention import build as attention


def build(
    attend: Function = scaled_dot_product_attention, mask: Function = window_mask
) -> Function:
    """Return attention under a mask made from (L, L, window)."""

    def wrong(query: Tensor, key: Tensor, value: Tensor, window: int) -> Any:
        length = query.shape[-2]
        return attend(query, key, value, mask(length, length, window))

    return wrong


def inside(**steps: Any) -> Function:
    """Return windowed attention with some steps exchanged inside every head."""
    return build(attend=attention(**steps))


def seen(rule: Callable[[Tensor, Tensor, int], Tensor]) -> Function:
    """Return attention to the keys for which the rule of (i, j, window) holds."""

    def mask(num_queries: int, num_keys: int, window: int) -> Tensor:
        return rule(torch.arange(num_queries).unsqueeze(-1), torch.arange(num_keys), window)

    return build(mask=mask)


def gathered(
    place: Callable[[Tensor, int, int], Tensor],
    hidden: Callable[[Tensor, int], Tensor] = lambda back, length: back < 0,
    scale: Callable[[int, int], float] = lambda d, window: d**-0.5,
    turn: Callable[[Tensor], Tensor] = lambda scores: scores.softmax(-1),
) -> Function:
    """Return attention that gathers each query's window: `place` says where, `hidden` what not.

    Args:
        place: Turns the places i - window + 1 ... i of every query, some below 0, into indices.
        hidden: Which of those places are no keys.
        scale: The factor on the scores, from d and the window.
        turn: What makes weights of scores.
    """

    def wrong(query: Tensor, key: Tensor, value: Tensor, window: int) -> Any:
        length = query.shape[-2]
        back = torch.arange(length).unsqueeze(-1) - torch.arange(window - 1, -1, -1)
        index = place(back, length, window)
        near, own = key[:, :, index], value[:, :, index]
        scores = (near @ query.unsqueeze(-1)).squeeze(-1) * scale(query.shape[-1], window)
        weights = turn(scores.masked_fill(hidden(back, length), -torch.inf))
        return (weights.unsqueeze(-2) @ own).squeeze(-2)

    return wrong
