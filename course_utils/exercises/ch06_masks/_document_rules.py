"""Masks for packed documents by another rule than the right one."""

from collections.abc import Callable

import torch
from torch import Tensor

from course_utils.checking.exercise import Function

Rule = Callable[[Tensor, Tensor], Tensor]


def by(same: Rule, past: Rule = torch.ge, join: Rule = torch.logical_and) -> Function:
    """Return a mask made by another rule.

    Args:
        same: For the ids of the queries (B, L, 1) and of the keys (B, 1, L).
        past: For the places of the queries and of the keys.
        join: How the two go together.
    """

    def wrong(document_ids: Tensor) -> Tensor:
        place = torch.arange(document_ids.shape[-1])
        pair = same(document_ids.unsqueeze(-1), document_ids.unsqueeze(-2))
        return join(pair, past(place.unsqueeze(-1), place)).unsqueeze(1)

    return wrong


def every(one: Tensor, other: Tensor) -> Tensor:
    """Allow every pair."""
    return torch.ones(torch.broadcast_shapes(one.shape, other.shape), dtype=torch.bool)
