"""Linear attention, written with its table of weights: a mistake exchanges one of the steps."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from course_utils.checking.exercise import Function

Map = Callable[[Tensor], Tensor]


def phi(x: Tensor) -> Tensor:
    """Return the features."""
    return F.elu(x) + 1.0


def same(x: Tensor) -> Tensor:
    """Change nothing."""
    return x


def _quotient(top: Tensor, bottom: Tensor, query: Tensor, key: Tensor) -> Tensor:
    return top / bottom


class Linear:
    """Builds versions of linear attention in which each query sees what `order` leaves.

    Attributes:
        order: What is done to the table of weights: nothing, or `torch.tril` for causal attention.
    """

    def __init__(self, order: Map) -> None:
        self.order = order

    def build(
        self,
        of_query: Map = phi,
        of_key: Map = phi,
        of_value: Map = same,
        top: Map | None = None,
        bottom: Map | None = None,
        divide: Callable[..., Tensor] = _quotient,
    ) -> Function:
        """Return linear attention with some of its steps exchanged.

        Args:
            of_query: The features of the queries.
            of_key: The features of the keys.
            of_value: What is averaged.
            top: What is done to the weights that meet the values.
            bottom: What is done to the weights that are summed below.
            divide: The output from numerator, denominator, query and key.
        """
        above, below = top or self.order, bottom or self.order

        def wrong(query: Tensor, key: Tensor, value: Tensor) -> Any:
            weights = of_query(query) @ of_key(key).mT
            total = below(weights).sum(-1, keepdim=True)
            return divide(above(weights) @ of_value(value), total, query, key)

        return wrong

    def features(self, feature: Map) -> Function:
        """Return linear attention with other features of queries and keys."""
        return self.build(of_query=feature, of_key=feature)

    def softmax(self, scale: Callable[[Tensor], float]) -> Function:
        """Return softmax attention."""

        def wrong(query: Tensor, key: Tensor, value: Tensor) -> Any:
            scores = query @ key.mT * scale(query)
            seen = self.order(torch.ones_like(scores)) > 0
            return scores.masked_fill(~seen, -torch.inf).softmax(-1) @ value

        return wrong
