"""The one training loop of the course's small models."""

from collections.abc import Callable, Iterable
from typing import Any, Required, TypedDict

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from course_utils.data import random_windows

Progress = Callable[[Iterable[int]], Iterable[int]]


class Training(TypedDict, total=False):
    """The options that all training functions take.

    Attributes:
        steps: Number of updates.
        seed: Decides which batches are drawn, and nothing else.
        progress: Wraps the step numbers, for example in a tqdm bar.
        watch: Called with each loss, for example to draw it.
    """

    steps: Required[int]
    seed: Required[int]
    progress: Progress
    watch: Callable[[float], object] | None


def descend(
    model: nn.Module,
    draw_loss: Callable[[], Tensor],
    optimiser: torch.optim.Optimizer,
    *,
    steps: int,
    learning_rate: float,
    progress: Progress = iter,
    rate: Callable[[int], float] | None = None,
    clip: float | None = 1.0,
    watch: Callable[[float], object] | None = None,
) -> list[float]:
    """Train in place with a short warm-up, a cosine and clipped gradients.

    Args:
        model: What to train.
        draw_loss: Returns the loss on the next batch.
        optimiser: Holds the model's parameters.
        steps: Number of updates.
        learning_rate: The highest rate, reached after a tenth of the steps.
        progress: Wraps the step numbers, for example in a tqdm bar.
        rate: The rate of each step, counted from 1, as a multiple of `learning_rate`, instead of
            the warm-up and the cosine.
        clip: The largest norm of a gradient; longer ones are scaled down. None does not clip.
        watch: Called with each loss, for example to draw it.

    Returns:
        The loss of each step.
    """
    schedule: torch.optim.lr_scheduler.LRScheduler
    if rate is None:
        schedule = torch.optim.lr_scheduler.OneCycleLR(
            optimiser, learning_rate, total_steps=steps, pct_start=0.1, cycle_momentum=False
        )
    else:
        for group in optimiser.param_groups:
            group["lr"] = learning_rate
        schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: rate(step + 1))
    losses = []
    for _ in progress(range(steps)):
        loss = draw_loss()
        optimiser.zero_grad()
        loss.backward()
        if clip is not None:
            nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimiser.step()
        schedule.step()
        losses.append(loss.item())
        if watch is not None:
            watch(losses[-1])
    return losses


def train(
    model: nn.Module,
    draw_loss: Callable[[torch.Generator], Tensor],
    learning_rate: float,
    optimiser: Callable[..., torch.optim.Optimizer] = torch.optim.AdamW,
    *,
    seed: int,
    **how: Any,
) -> list[float]:
    """Descend on batches that one generator draws; return the loss of each step.

    Args:
        model: What to train.
        draw_loss: Returns the loss on the next batch from a generator.
        learning_rate: The highest rate.
        optimiser: Makes the optimiser from the parameters and the rate.
        seed: Decides which batches are drawn.
        **how: All others of `descend`.
    """
    generator = torch.Generator().manual_seed(seed)
    return descend(
        model, lambda: draw_loss(generator), optimiser(model.parameters(), lr=learning_rate),
        learning_rate=learning_rate, **how,
    )  # fmt: skip


def window_loss(
    score: Callable[[Tensor], Tensor], tokens: Tensor, length: int, batch: int
) -> Callable[[torch.Generator], Tensor]:
    """Return what draws windows of a text and the loss in nats of each next token there."""

    def draw_loss(generator: torch.Generator) -> Tensor:
        inputs, targets = random_windows(tokens, length, batch, generator)
        return F.cross_entropy(score(inputs).flatten(0, 1), targets.flatten())

    return draw_loss
