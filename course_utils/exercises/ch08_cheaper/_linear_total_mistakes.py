"""What goes wrong below the fraction of linear attention, with and without a causal order."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from course_utils.checking.exercise import Function, Misconception
from course_utils.exercises.ch08_cheaper._linear import Linear, phi


def _shared_out(x: Tensor) -> Tensor:
    """Return features of keys that sum to 1 over the positions."""
    return phi(x) / phi(x).sum(-2, keepdim=True)


def _epsilon(build: Callable[..., Function], small: float) -> Function:
    return build(divide=lambda top, bottom, query, key: top / (bottom + small))


def _clamped(build: Callable[..., Function], small: float) -> Function:
    return build(divide=lambda top, bottom, query, key: top / bottom.clamp(min=small))


def total_mistakes(linear: Linear) -> tuple[Misconception, ...]:
    """Return the mistakes with what stands below the fraction."""
    build = linear.build
    return (
        Misconception(
            "normaliser missing",
            build(divide=lambda t, b, q, k: t),
            "The weights of a query do not sum to 1, so the output grows with the number of keys. "
            "What is it divided by?",
        ),
        Misconception(
            "divided by a count",
            build(divide=lambda t, b, q, k: t / k.shape[-2]),
            "The sum is divided by a number of keys or a root. The weights of a query sum to "
            "φ(q)·Σφ(k), which differs from query to query.",
            also=(
                build(divide=lambda t, b, q, k: t / math.sqrt(k.shape[-2])),
                build(divide=lambda t, b, q, k: t / math.sqrt(k.shape[-1])),
                build(divide=lambda t, b, q, k: t / k.shape[-1]),
                build(divide=lambda t, b, q, k: t / b / k.shape[-2]),
                build(divide=lambda t, b, q, k: t / torch.arange(1, t.shape[-2] + 1).unsqueeze(-1)),
            ),
        ),
        Misconception(
            "an epsilon below",
            build(divide=lambda t, b, q, k: t / (b + 1e-6)),
            "Something small was added to the sum of the weights, or a small sum was lifted. Where "
            "the features are small themselves, it is not small beside them. The sum is positive.",
            also=(
                *(_epsilon(build, small) for small in (1e-3, 1e-5, 1e-8, 1e-9, 1e-10, 1e-12)),
                *(_clamped(build, small) for small in (1e-3, 1e-5, 1e-6, 1e-8, 1e-9, 1e-10)),
            ),
        ),
        Misconception(
            "half of the normaliser",
            build(divide=lambda t, b, q, k: t / phi(q).sum(-1, keepdim=True)),
            "Only one of φ(q) and Σφ(k) is in the denominator. The sum of the weights of a query "
            "is the product of both: which one is missing?",
            also=(
                build(of_key=_shared_out, divide=lambda t, b, q, k: t),
                build(
                    of_key=_shared_out,
                    of_query=lambda x: phi(x) / phi(x).sum(-1, keepdim=True),
                    divide=lambda t, b, q, k: t,
                ),
                build(divide=lambda t, b, q, k: t / phi(k).sum((-2, -1), keepdim=True)),
                build(divide=lambda t, b, q, k: t * phi(q).sum(-1, keepdim=True) / b),
            ),
        ),
        Misconception(
            "a mean below",
            build(divide=lambda t, b, q, k: t * k.shape[-2] / b),
            "The sum above is divided by a mean, so the weights sum to the number of keys. What "
            "do sum and mean differ by?",
            also=(build(divide=lambda t, b, q, k: t * k.shape[-1] / b),),
        ),
        Misconception(
            "raw keys below",
            build(divide=lambda t, b, q, k: t / linear.order(phi(q) @ k.mT).sum(-1, keepdim=True)),
            "The sum below takes keys or queries without φ, so it is not the sum of the weights "
            "above. Which features belong in both?",
            also=(
                build(
                    divide=lambda t, b, q, k: t / linear.order(q @ phi(k).mT).sum(-1, keepdim=True)
                ),
                build(divide=lambda t, b, q, k: t / linear.order(q @ k.mT).sum(-1, keepdim=True)),
            ),
        ),
        Misconception(
            "multiplied instead of divided",
            build(divide=lambda t, b, q, k: t * b),
            "The sum of the weights multiplies the output. Larger weights must not make a larger "
            "average: on which side of the fraction does it stand?",
        ),
        Misconception(
            "normaliser cut off",
            build(divide=lambda t, b, q, k: t / b.detach()),
            "The values are right, but no gradient goes through the sum of the weights, as if it "
            "were a constant. Which call cuts it off?",
        ),
        Misconception(
            "features cut off",
            build(of_key=lambda x: phi(x).detach()),
            "The values are right, but queries or keys get no gradient. What cuts them off?",
            also=(build(of_query=lambda x: phi(x).detach()),),
        ),
    )
