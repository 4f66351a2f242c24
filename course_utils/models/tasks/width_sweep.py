"""Train one small Transformer at several widths and read off its loss along the way.

Source: Hoffmann et al. 2022, section 3.3 (losses over sizes and tokens),
    https://arxiv.org/abs/2203.15556; the schedule is Vaswani et al.'s
Differs: one run serves all its token counts. That is fair because the schedule does not know where
    training ends; a cosine would have to be run again for each count.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

from course_utils.attention import causal_mask
from course_utils.data import ALPHABET, CharacterText, random_windows
from course_utils.models.gpt.small_transformer import SmallTransformer
from course_utils.models.training import Progress, train, window_loss
from course_utils.models.training.schedules import warmup_inverse_sqrt
from course_utils.validation import check_at_least

BATCH, LENGTH, WARMUP, PEAK, JUDGED = 16, 32, 50, 1e-2, 256
MASK = causal_mask(LENGTH, LENGTH)
SIZES: dict[str, Any] = {"num_heads": 2, "num_layers": 2, "max_length": 64}


@dataclass(frozen=True)
class SweepPoint:
    """One loss of a sweep.

    Attributes:
        d_model: Width of the model.
        num_parameters: All of them.
        num_embedding: Those of the tables of tokens and positions, and of the output matrix.
        num_tokens: How many it had read.
        loss: Of text that it was not trained on, in nats per character.
    """

    d_model: int
    num_parameters: int
    num_embedding: int
    num_tokens: int
    loss: float


def train_at_width(
    text: CharacterText,
    d_model: int,
    read_at: Sequence[int],
    *,
    seed: int,
    progress: Progress = iter,
    watch: Callable[[float], object] | None = None,
) -> list[SweepPoint]:
    """Train two layers of two heads; return the loss after each of these numbers of steps.

    Args:
        text: What to learn, and what to be judged by.
        d_model: Width of the model.
        read_at: After which steps the loss is read, in ascending order.
        seed: Decides the weights and the windows.
        progress: Wraps the step numbers.
        watch: Called with each loss.
    """
    check_at_least(1, read_at=min(read_at, default=0))
    if sorted(set(read_at)) != list(read_at):
        raise ValueError(f"read_at must ascend, got {list(read_at)}")
    torch.manual_seed(seed)
    model = SmallTransformer(len(ALPHABET), d_model=d_model, **SIZES)
    peak = warmup_inverse_sqrt(WARMUP, d_model, WARMUP)
    points: list[SweepPoint] = []
    seen: list[float] = []

    def note(loss: float) -> None:
        seen.append(loss)
        if len(seen) in read_at:
            points.append(_point(model, d_model, len(seen), text))
        if watch is not None:
            watch(loss)

    train(
        model, window_loss(lambda tokens: model(tokens, MASK), text.train, LENGTH, BATCH), PEAK,
        partial(torch.optim.Adam, betas=(0.9, 0.98)), steps=read_at[-1], seed=seed,
        rate=lambda step: warmup_inverse_sqrt(step, d_model, WARMUP) / peak,
        progress=progress, watch=note,
    )  # fmt: skip
    return points


def _point(model: SmallTransformer, d_model: int, steps: int, text: CharacterText) -> SweepPoint:
    tables: list[nn.Module] = [model.token, model.position, model.out]
    judged = random_windows(text.validation, LENGTH, JUDGED, torch.Generator().manual_seed(0))
    with torch.no_grad():
        logits = model(judged[0], MASK)
    loss = F.cross_entropy(logits.flatten(0, 1), judged[1].flatten())
    return SweepPoint(
        d_model,
        sum(one.numel() for one in model.parameters()),
        sum(one.numel() for table in tables for one in table.parameters()),
        steps * BATCH * LENGTH,
        loss.item(),
    )
