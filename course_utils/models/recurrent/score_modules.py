"""The scores of chapter 02 with their parameters, to be trained inside a model.

Source: Bahdanau et al. 2015, https://arxiv.org/abs/1409.0473; Luong et al. 2015,
    https://arxiv.org/abs/1508.04025. The functions are those of `course_utils.attention`; the dot
    product needs no module, since it has no parameters.
Differs: matrices start with the deviation 1/√rows.
"""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor, nn

from course_utils.attention import concat_score, general_score
from course_utils.validation import (
    check_at_least,
    check_fed,
)


class GeneralScore(nn.Module):
    """q W kᵀ.

    Args:
        d_q: Width of a query.
        d_k: Width of a key.
    """

    def __init__(self, d_q: int, d_k: int) -> None:
        super().__init__()
        check_at_least(1, d_q=d_q, d_k=d_k)
        self.W = _matrix(d_q, d_k)

    def forward(
        self, query: Float[Tensor, "B L d_q"], key: Float[Tensor, "B S d_k"]
    ) -> Float[Tensor, "B L S"]:
        """Return the scores."""
        return general_score(query, key, self.W)


class ConcatScore(nn.Module):
    """tanh([q; k] W)·v; the keys are multiplied by their half of W at every call.

    Args:
        d_q: Width of a query.
        d_k: Width of a key.
        d_a: Width of the hidden layer.
    """

    def __init__(self, d_q: int, d_k: int, d_a: int) -> None:
        super().__init__()
        check_at_least(1, d_q=d_q, d_k=d_k, d_a=d_a)
        self.W, self.v = _matrix(d_q + d_k, d_a), _vector(d_a)

    def forward(
        self, query: Float[Tensor, "B L d_q"], key: Float[Tensor, "B S d_k"]
    ) -> Float[Tensor, "B L S"]:
        """Return the scores."""
        return concat_score(query, key, self.W, self.v)


class AdditiveScore(nn.Module):
    """tanh(q W_q + k W_k)·v, where `project` makes k W_k once per sentence.

    Args:
        d_q: Width of a query.
        d_k: Width of a key.
        d_a: Width of the hidden layer.
    """

    def __init__(self, d_q: int, d_k: int, d_a: int) -> None:
        super().__init__()
        check_at_least(1, d_q=d_q, d_k=d_k, d_a=d_a)
        self.W_q, self.W_k, self.v = _matrix(d_q, d_a), _matrix(d_k, d_a), _vector(d_a)

    def project(self, key: Float[Tensor, "B S d_k"]) -> Float[Tensor, "B S d_a"]:
        """Return what `forward` takes for a key."""
        check_fed(self.W_k.mT, key=key)
        return key @ self.W_k

    def forward(
        self, query: Float[Tensor, "B L d_q"], projected: Float[Tensor, "B S d_a"]
    ) -> Float[Tensor, "B L S"]:
        """Return the scores, given keys that are projected already."""
        check_fed(self.W_q.mT, query=query)
        hidden = (query @ self.W_q).unsqueeze(-2) + projected.unsqueeze(-3)
        return torch.tanh(hidden) @ self.v


def _matrix(rows: int, columns: int) -> nn.Parameter:
    return nn.Parameter(torch.randn(rows, columns) * rows**-0.5)


def _vector(size: int) -> nn.Parameter:
    return nn.Parameter(torch.randn(size) * size**-0.5)
