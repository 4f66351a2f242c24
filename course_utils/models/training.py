"""The one training loop of the course's small models."""

from collections.abc import Callable, Iterable

import torch
from torch import Tensor, nn


def descend(
    model: nn.Module,
    draw_loss: Callable[[], Tensor],
    optimiser: torch.optim.Optimizer,
    *,
    steps: int,
    learning_rate: float,
    progress: Callable[[Iterable[int]], Iterable[int]] = iter,
) -> list[float]:
    """Train in place with a short warm-up, a cosine and clipped gradients.

    Args:
        model: What to train.
        draw_loss: Returns the loss on the next batch.
        optimiser: Holds the model's parameters.
        steps: Number of updates.
        learning_rate: The highest rate, reached after a tenth of the steps.
        progress: Wraps the step numbers, for example in a tqdm bar.

    Returns:
        The loss of each step.
    """
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimiser, learning_rate, total_steps=steps, pct_start=0.1, cycle_momentum=False
    )
    losses = []
    for _ in progress(range(steps)):
        loss = draw_loss()
        optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        schedule.step()
        losses.append(loss.item())
    return losses
