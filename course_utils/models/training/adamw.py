"""One step of AdamW, written out.

Source: Loshchilov and Hutter 2019, Decoupled Weight Decay Regularization, Algorithm 2,
    https://arxiv.org/abs/1711.05101; moments and bias correction are Adam's, Kingma and Ba 2015,
    Algorithm 1, https://arxiv.org/abs/1412.6980
Ours / theirs: rate = α = η;  m, v = m_t, v_t;  weight_decay = λ
Differs: the decay is multiplied by the rate, as in `torch.optim.AdamW`
Same contract as: `torch.optim.AdamW`, for one parameter, and with its state in the open
"""

import math

import torch
from jaxtyping import Float
from torch import Tensor

from course_utils.validation import (
    check_at_least,
    check_instance,
    check_number,
    check_same_dtype,
    check_shape,
)


@torch.no_grad()
def adamw_step(
    parameter: Float[Tensor, "*batch"],
    gradient: Float[Tensor, "*batch"],
    m: Float[Tensor, "*batch"],
    v: Float[Tensor, "*batch"],
    step: int,
    rate: float,
    betas: tuple[float, float],
    eps: float,
    weight_decay: float,
) -> tuple[Float[Tensor, "*batch"], Float[Tensor, "*batch"], Float[Tensor, "*batch"]]:
    """Return the parameter after a step of AdamW, and its two moments; nothing is written in place.

    Args:
        parameter: What is learnt.
        gradient: The gradient of the loss there.
        m: The running mean of the gradients, zeros before the first step.
        v: The running mean of their squares, zeros before the first step.
        step: Which step this is; the first has the number 1.
        rate: The learning rate.
        betas: How much of m and of v is kept.
        eps: Is added to the root of the corrected v.
        weight_decay: By which share of itself the parameter shrinks, times the rate.

    Raises:
        TypeError: The tensors differ in dtype, a number is not one, or `betas` is not a tuple.
        ValueError: The tensors differ in shape, a number is negative or not finite, there are not
            two betas from 0 to below 1, or `step` is below 1.
    """
    check_same_dtype(parameter=parameter, gradient=gradient, m=m, v=v)
    check_shape(tuple(parameter.shape), gradient=gradient, m=m, v=v)
    check_at_least(1, step=step)
    _check_numbers(betas, rate=rate, eps=eps, weight_decay=weight_decay)
    beta_1, beta_2 = betas
    m = beta_1 * m + (1 - beta_1) * gradient
    v = beta_2 * v + (1 - beta_2) * gradient.square()
    mean, square = m / (1 - beta_1**step), v / (1 - beta_2**step)
    kept = parameter * (1 - rate * weight_decay)
    return kept - rate * mean / (square.sqrt() + eps), m, v


def _check_numbers(betas: tuple[float, float], **numbers: float) -> None:
    """Raise unless both betas lie in [0, 1) and every other number is finite and not negative."""
    check_instance(tuple, betas=betas)
    check_number(**numbers, **{f"betas[{i}]": beta for i, beta in enumerate(betas)})
    if len(betas) != 2 or not all(0 <= beta < 1 for beta in betas):
        raise ValueError(f"betas must be two numbers from 0 to below 1, got {betas}")
    for name, number in numbers.items():
        if not 0 <= number < math.inf:
            raise ValueError(f"{name} must be finite and at least 0, got {number}")
