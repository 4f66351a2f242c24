"""The gradient of a batch that does not fit in memory, from parts that do.

Source: the gradient of a sum is the sum of the gradients; the division by the number of tokens
    comes last, since parts of unequal length have unequal weight
Same contract as: `torch.autograd.grad` of the mean over the whole batch
"""

from collections.abc import Callable, Sequence
from typing import TypeVar

import torch
from torch import Tensor

from course_utils.validation import check_at_least, check_callable, check_float

Micro = TypeVar("Micro")


def accumulated_gradient(
    loss: Callable[[Micro], tuple[Tensor, int]],
    parameters: Sequence[Tensor],
    micro_batches: Sequence[Micro],
) -> tuple[Tensor, ...]:
    """Return the gradient of the mean over all tokens, with the graph of one part at a time.

    Args:
        loss: Takes a micro-batch; returns the sum of its tokens' losses, and how many tokens it
            has. It is called once for each.
        parameters: Leaves; their `.grad` is left unchanged.
        micro_batches: The parts of the batch.

    Returns:
        A gradient for each parameter, zeros where it has no part or no token counts.

    Raises:
        ValueError: A parameter does not require a gradient.
    """
    check_callable(loss=loss)
    for parameter in parameters:
        check_float(parameter=parameter)
        if not parameter.requires_grad:
            raise ValueError("each parameter must require a gradient, got one that does not")
    sums = [torch.zeros_like(parameter) for parameter in parameters]
    tokens = 0
    for micro in micro_batches:
        total, num_tokens = loss(micro)
        check_at_least(0, num_tokens=num_tokens)
        tokens += num_tokens
        parts = torch.autograd.grad(total, list(parameters), allow_unused=True)
        for summed, part in zip(sums, parts, strict=True):
            if part is not None:
                summed += part
    return tuple(summed / tokens if tokens else torch.zeros_like(summed) for summed in sums)
