"""Judge a model that writes: each character, the whole answer, and its confidence.

Source: exact match and character accuracy of one model, side by side: Schaeffer et al. 2023, Are
    Emergent Abilities of Large Language Models a Mirage?, section 2, https://arxiv.org/abs/2304.15004
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import nn

from course_utils.data import FIRST_SYMBOL, Pairs
from course_utils.models.recurrent.seq2seq_training import sequence_loss


@dataclass(frozen=True)
class Judged:
    """The result of `judge_writing`.

    Attributes:
        accuracy: Share of positions at which the right character is the likeliest.
        exact: Share of answers in which every character is. Greedy decoding then gives the same,
            since it is fed what it wrote.
        confidence: The mean of the largest probability.
        loss: In nats per token, the END of an answer included.
        gap: How far the largest logit is above the mean of all, on average.
    """

    accuracy: float
    exact: float
    confidence: float
    loss: float
    gap: float


@torch.no_grad()
def judge_writing(model: nn.Module, pairs: Pairs) -> Judged:
    """Return how well and how confidently a model writes, fed the right characters before each.

    Args:
        model: `model(source, target)` gives the logits, as `Seq2Seq` and `Transformer` do.
        pairs: The questions and their answers.
    """
    logits = model(pairs.source, pairs.target)
    wanted = pairs.target[:, 1:]
    counts = wanted >= FIRST_SYMBOL
    right = logits.argmax(dim=-1) == wanted
    top = logits.amax(dim=-1)
    return Judged(
        accuracy=right[counts].float().mean().item(),
        exact=(right | ~counts).all(dim=1).float().mean().item(),
        confidence=logits.softmax(dim=-1).amax(dim=-1)[counts].mean().item(),
        loss=sequence_loss(logits, pairs.target).item(),
        gap=(top - logits.mean(dim=-1))[counts].mean().item(),
    )
