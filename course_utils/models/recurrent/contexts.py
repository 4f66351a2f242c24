"""Contexts of a decoder: one vector for all steps, or an average made for each of them.

Source: Sutskever et al. 2014, Sequence to Sequence Learning with Neural Networks,
    https://arxiv.org/abs/1409.3215, and Cho et al. 2014, https://arxiv.org/abs/1406.1078 (fixed);
    Bahdanau et al. 2015, https://arxiv.org/abs/1409.0473, appendix A.1.2 (additive, the keys'
    projection kept); Luong et al. 2015, https://arxiv.org/abs/1508.04025 (the other scores, local).
Ours / theirs: state = s_{t-1} (Bahdanau) or h_t (Luong);  states = h_j, h̄_s;  memory is what is
    computed once per sentence
Differs: all of them plug into the same decoder, so that only the context differs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from course_utils.attention import (
    local_monotonic_weights,
    local_predictive_weights,
    predicted_centre,
    stable_softmax,
)
from course_utils.validation import check_at_least, check_callable, check_float, check_shape

Score = Callable[[Tensor, Tensor], Tensor]


class Encoded(NamedTuple):
    """An encoder's result for a source.

    Attributes:
        states: One for each symbol; those of padding are zero.
        summary: One for the whole: the last state of each direction.
        mask: True where a symbol is real.
    """

    states: Float[Tensor, "B S width"]
    summary: Float[Tensor, "B width"]
    mask: Bool[Tensor, "B S"]


class Context(nn.Module):
    """A decoder's view of the source: `remember` runs once per sentence, `forward` at each step."""

    def remember(self, encoded: Encoded) -> Any:
        """Return whatever can be computed before the first step."""
        raise NotImplementedError

    def forward(
        self, state: Float[Tensor, "B width"], memory: Any, step: int
    ) -> tuple[Float[Tensor, "B width"], Float[Tensor, "B S"] | None]:
        """Return the context for this step and the weights that made it, None without any."""
        raise NotImplementedError


class FixedContext(Context):
    """The summary at every step, whatever the query."""

    def remember(self, encoded: Encoded) -> Tensor:
        """Keep the summary alone."""
        return encoded.summary

    def forward(
        self, state: Float[Tensor, "B width"], memory: Float[Tensor, "B width"], step: int
    ) -> tuple[Tensor, None]:
        """Return the summary."""
        return memory, None


class AttentionContext(Context):
    """An average of the encoder's states, weighted by a score.

    Args:
        score: `score(query (B, L, d_q), key (B, S, d_k)) -> (B, L, S)`: a function or a module. If
            it has a method `project`, that is applied to the keys once per sentence.
    """

    def __init__(self, score: Score) -> None:
        super().__init__()
        check_callable(score=score)
        self.score = score

    def remember(self, encoded: Encoded) -> tuple[Encoded, Tensor]:
        """Keep the states, and the keys as the score wants them."""
        project = getattr(self.score, "project", None)
        return encoded, encoded.states if project is None else project(encoded.states)

    def forward(
        self, state: Float[Tensor, "B width"], memory: tuple[Encoded, Tensor], step: int
    ) -> tuple[Tensor, Tensor]:
        """Return the average and its weights."""
        encoded, key = memory
        scores = self.score(state.unsqueeze(1), key)
        check_float(scores=scores)
        check_shape((len(state), 1, encoded.mask.shape[1]), scores=scores)
        hidden = scores.masked_fill(~encoded.mask.unsqueeze(1), -torch.inf)
        weights = self._weights(hidden, state, encoded.mask, step)
        return (weights @ encoded.states).squeeze(1), weights.squeeze(1)

    def _weights(self, scores: Tensor, state: Tensor, mask: Tensor, step: int) -> Tensor:
        """Return the weights (B, 1, S), given the scores, -inf where a key is padding."""
        return stable_softmax(scores)


class LocalMonotonicContext(AttentionContext):
    """Attention to the keys around the step's own number (local-m).

    Args:
        score: As for AttentionContext.
        half_width: How far the window reaches to each side.
    """

    def __init__(self, score: Score, half_width: int) -> None:
        super().__init__(score)
        check_at_least(0, half_width=half_width)
        self.half_width = half_width

    def _weights(self, scores: Tensor, state: Tensor, mask: Tensor, step: int) -> Tensor:
        return local_monotonic_weights(scores, self.half_width, offset=step)


class LocalPredictiveContext(AttentionContext):
    """Attention around a place that the decoder's state predicts (local-p).

    Args:
        score: As for AttentionContext.
        width: Width of the state.
        half_width: Luong's D; the Gaussian's deviation is half of it.
    """

    def __init__(self, score: Score, width: int, half_width: int) -> None:
        super().__init__(score)
        check_at_least(1, width=width, half_width=half_width)
        self.half_width = half_width
        self.W_p = nn.Parameter(torch.randn(width, width) * width**-0.5)
        self.v_p = nn.Parameter(torch.randn(width) * width**-0.5)

    def _weights(self, scores: Tensor, state: Tensor, mask: Tensor, step: int) -> Tensor:
        # Damped by the Gaussian, they sum to less than 1.
        centre = predicted_centre(state.unsqueeze(1), self.W_p, self.v_p, mask.sum(dim=1))
        return local_predictive_weights(scores, centre, self.half_width / 2)
