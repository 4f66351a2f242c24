"""The loss as a law of parameters and tokens: fit it, and use it to spend a budget.

Source: Hoffmann et al. 2022, Training Compute-Optimal Large Language Models, section 3.3 and
    appendix D.3, https://arxiv.org/abs/2203.15556
Ours / theirs: flops = C;  num_parameters = N;  num_tokens = D
Differs: starts from 8 points placed by the data, not from a fixed grid of 4,500; N and D are taken
    relative to their geometric means, so that the numbers searched for hardly depend on each other.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import huber_loss

from course_utils.validation import check_number, check_positive

_DELTA = 1e-3  # of log loss: where Huber's loss turns from quadratic to linear


@dataclass(frozen=True)
class ScalingLaw:
    """The law loss = E + A / N^alpha + B / D^beta of N parameters and D tokens.

    Attributes:
        A: How much few parameters cost.
        B: How much few tokens cost.
        alpha: How fast more parameters help.
        beta: How fast more tokens help.
        E: What is left with endless parameters and tokens.
    """

    A: float
    B: float
    alpha: float
    beta: float
    E: float

    def __call__(self, num_parameters: float, num_tokens: float) -> float:
        """Return the loss that the law gives."""
        check_positive(num_parameters=num_parameters, num_tokens=num_tokens)
        from_size = self.A / num_parameters**self.alpha
        from_data = self.B / num_tokens**self.beta
        return float(self.E + from_size + from_data)


def fit_scaling_law(
    num_parameters: Sequence[float], num_tokens: Sequence[float], losses: Sequence[float]
) -> ScalingLaw:
    """Fit the law to runs: Huber's loss of the logarithms, by L-BFGS from 8 starts.

    Args:
        num_parameters: N of each run.
        num_tokens: D of each run.
        losses: The loss of each run.

    Raises:
        ValueError: There are fewer than five runs, or all have the same N or the same D.
    """
    columns = {"num_parameters": num_parameters, "num_tokens": num_tokens, "losses": losses}
    size, data, goal = (_logarithms(name, column) for name, column in columns.items())
    if not len(size) == len(data) == len(goal) >= 5:
        raise ValueError(
            "a fit of five numbers needs at least five runs, each with N, D and a loss, "
            f"got {len(size)}, {len(data)} and {len(goal)}"
        )
    if size.unique().numel() == 1 or data.unique().numel() == 1:
        raise ValueError("the runs must differ in both N and D, got one value for all")
    centre_n, centre_d = size.mean(), data.mean()
    size, data = size - centre_n, data - centre_d
    fits = (_descend(start, size, data, goal) for start in _starts(goal))
    _, (a, b, e, alpha, beta) = min(fits, key=lambda fit: fit[0])
    return ScalingLaw(
        math.exp(a + alpha * float(centre_n)),
        math.exp(b + beta * float(centre_d)),
        alpha,
        beta,
        math.exp(e),
    )


def compute_optimal(
    flops: float, A: float, B: float, alpha: float, beta: float, E: float
) -> tuple[float, float, float]:
    """Return the parameters and tokens with the least loss for a budget, and that loss.

    Args:
        flops: The budget C, spent as 6·N·D.
        A: How much few parameters cost.
        B: How much few tokens cost.
        alpha: How fast more parameters help.
        beta: How fast more tokens help.
        E: What is left with endless parameters and tokens.

    Raises:
        ValueError: A number is not positive and finite; E may be 0.
    """
    check_positive(flops=flops, A=A, B=B, alpha=alpha, beta=beta)
    check_number(E=E)
    if E != 0:
        check_positive(E=E)
    pairs = flops / 6
    ratio = (alpha * A) / (beta * B)
    num_parameters = float((ratio * pairs**beta) ** (1 / (alpha + beta)))
    num_tokens = pairs / num_parameters
    return num_parameters, num_tokens, ScalingLaw(A, B, alpha, beta, E)(num_parameters, num_tokens)


def _starts(goal: Tensor) -> list[Tensor]:
    """Return starts (a, b, e, alpha, beta); at the centre all share the loss that is not E."""
    found = []
    for share, alpha, beta in itertools.product((0.3, 0.8), (0.2, 0.6), (0.2, 0.6)):
        least = share * goal.min().exp()
        rest = ((goal.mean().exp() - least) / 2).log()
        found.append(torch.stack((rest, rest, least.log(), *goal.new_tensor((alpha, beta)))))
    return found


def _descend(
    start: Tensor, size: Tensor, data: Tensor, goal: Tensor
) -> tuple[float, tuple[float, ...]]:
    """Return the objective at the end of one search, and where that is."""
    point = start.clone().requires_grad_()
    search = torch.optim.LBFGS(
        [point], max_iter=300, tolerance_grad=1e-10, tolerance_change=1e-14,
        line_search_fn="strong_wolfe",
    )  # fmt: skip

    def objective() -> Tensor:
        search.zero_grad()
        a, b, e, alpha, beta = point
        terms = torch.stack((a - alpha * size, b - beta * data, e.expand_as(size)))
        loss = huber_loss(terms.logsumexp(0), goal, reduction="sum", delta=_DELTA)
        loss.backward()
        return loss

    search.step(objective)
    found = tuple(point.tolist())
    end = float(objective().detach())
    return (end if math.isfinite(end) else math.inf), found


def _logarithms(name: str, numbers: Sequence[float]) -> Tensor:
    if not isinstance(numbers, Sequence):
        raise TypeError(f"{name} must be a sequence of numbers, got {numbers!r:.60}")
    for number in numbers:
        check_positive(**{name: number})
    return torch.tensor(list(numbers), dtype=torch.float64).log()
