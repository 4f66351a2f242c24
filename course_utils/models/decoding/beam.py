"""Beam search: the likeliest text that can be found by keeping a few beginnings alive.

Source: Graves 2012, Sequence Transduction with Recurrent Neural Networks, section 2.4.3,
    https://arxiv.org/abs/1211.3711; the beam that loses a slot with each finished text is that of
    the dl4mt decoder, https://github.com/nyu-dl/dl4mt-tutorial (`k - dead_k`); the length in the
    score is a plain power, simpler than Wu et al. 2016, Eq. 14, https://arxiv.org/abs/1609.08144
Differs: Hugging Face refills the slots of finished texts.
Same contract as: trying all texts, where the width is at least V^max_length; greedy at width 1
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from course_utils.validation import (
    check_at_least,
    check_callable,
    check_float,
    check_int,
    check_number,
)

Step = Callable[[Int[Tensor, "n t"]], Float[Tensor, "n V"]]


class _Hypothesis(NamedTuple):
    tokens: list[int]
    sum: float


@torch.no_grad()
def beam_search(
    step: Step, start: int, end: int, width: int, max_length: int, alpha: float = 0.0
) -> tuple[list[int], float]:
    """Return the best text that a beam finds, and its score: sum of log-probabilities / length^α.

    Args:
        step: Maps texts so far, each beginning with `start`, to the log-probabilities of the
            token after each.
        start: The token that every text begins with; it is not part of the result.
        end: The token that finishes a text.
        width: How many hypotheses there is room for, including finished ones.
        max_length: How many tokens may be written, including `end`.
        alpha: 0 compares sums, which favours short texts; 1 compares means.

    Raises:
        ValueError: No text is possible.
    """
    check_callable(step=step)
    check_int(start=start, end=end)
    check_at_least(1, width=width, max_length=max_length)
    check_number(alpha=alpha)
    alive, finished = [_Hypothesis([start], 0.0)], list[_Hypothesis]()
    for _ in range(max_length):
        kept = _extended(step, alive, width - len(finished))
        finished += [one for one in kept if one.tokens[-1] == end]
        alive = [one for one in kept if one.tokens[-1] != end]
        if not alive:
            break
    scores = {one.sum / (len(one.tokens) - 1) ** alpha: one for one in finished + alive}
    if not scores:
        raise ValueError("step must leave at least one text possible, got -inf for all")
    best = max(scores)
    return scores[best].tokens[1:], best


def _extended(step: Step, alive: list[_Hypothesis], places: int) -> list[_Hypothesis]:
    """Return the best of all hypotheses that are one token longer."""
    log_p = step(torch.tensor([one.tokens for one in alive]))
    check_float("n V", log_p=log_p)
    if len(log_p) != len(alive):
        raise ValueError(f"step must return a row for each of {len(alive)} texts, got {len(log_p)}")
    sums = log_p.double() + torch.tensor([[one.sum] for one in alive], dtype=torch.float64)
    best, index = sums.flatten().topk(min(places, sums.numel()))
    return [
        _Hypothesis([*alive[at // sums.shape[1]].tokens, at % sums.shape[1]], total)
        for total, at in zip(best.tolist(), index.tolist(), strict=True)
        if total > -torch.inf
    ]
