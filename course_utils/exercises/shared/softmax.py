"""Mistakes between scores and weights.

The lines speak of the steps

    weights = stable_softmax(scores)

with the keys on the last axis of `scores`, and -inf for a key that may not be seen. `AXES` speaks
of tables with a row for each query; `SOFTMAX` holds it.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from course_utils.checking.exercise import Law
from course_utils.checking.laws import row_sums_broken, weights_negative
from course_utils.checking.mistakes import Mistake, mistake

AXES = (
    mistake("softmax over the queries", "The columns of the weights sum to 1, not the rows: keys choose among queries. "
            "Who shares its attention out among whom?",
            "weights = stable_softmax(scores.mT).mT", "weights = torch.softmax(scores, -2)"),
    mistake("softmax over an axis counted from the front", "The weights sum to 1 over an axis that is the right one "
            "for some numbers of axes only. Which axis holds the keys, counted from the end?",
            "weights = torch.softmax(scores, 0)", "weights = torch.softmax(scores, 1)",
            "weights = torch.softmax(scores, 2)"),
    mistake("one softmax over all pairs", "The whole table sums to 1. Each query has 1 of its own to give: what must "
            "the sum run over?", "weights = stable_softmax(scores.flatten(-2)).view(scores.shape)",
            "weights = stable_softmax(scores.flatten()).view(scores.shape)"),
)

SOFTMAX = (
    *AXES,
    mistake("no softmax", "The raw scores are used as weights. What turns a row of scores into shares?",
            "weights = scores"),
    mistake("not divided by the row's sum", "The exponentials are used as weights, so a row does not sum to 1. What is "
            "each of them divided by?",
            "weights = scores.exp()", "weights = (scores - scores.amax(-1, keepdim=True)).exp()"),
    mistake("no exponential", "Scores were divided by their sum as they are, so weights can be negative. What makes "
            "every score positive first?", "weights = scores / scores.sum(-1, keepdim=True)",
            "weights = scores.relu() / scores.relu().sum(-1, keepdim=True)",
            "weights = scores.abs() / scores.abs().sum(-1, keepdim=True)",
            "weights = scores.square() / scores.square().sum(-1, keepdim=True)",
            "rest = scores - scores.amin(-1, keepdim=True)\nweights = rest / rest.sum(-1, keepdim=True)",
            "weights = F.normalize(scores, dim=-1)"),
    mistake("relu before the softmax", "All negative scores count as 0. A softmax takes scores of any sign: what did "
            "the relu throw away?",
            "weights = stable_softmax(torch.where(scores == -torch.inf, scores, scores.relu()))",
            "weights = stable_softmax(scores.relu())"),
    mistake("softmax applied twice", "The weights are nearly even: a softmax was taken of what had been through one. "
            "How often are scores turned into shares?", "weights = stable_softmax(stable_softmax(scores))"),
    mistake("all weight on the best key", "Each query takes everything from its best key. Softmax is soft: what should "
            "the others get?",
            "weights = F.one_hot(scores.argmax(-1), scores.shape[-1]).to(scores.dtype) + 0.0 * "
            "scores.nan_to_num(neginf=0.0)"),
    mistake("sigmoid instead of softmax", "Each score is squashed on its own, so the weights do not sum to 1. What "
            "must a weight know of the other scores of its row?", "weights = torch.sigmoid(scores)"),
    mistake("no shift before exp", "Scores in the thousands give NaN: their exponentials overflow. What does a stable "
            "softmax subtract first?", "weights = scores.exp() / scores.exp().sum(-1, keepdim=True)",
            "total = scores.exp().sum(-1, keepdim=True)\nweights = scores.exp() / total.masked_fill(total == 0, 1.0)"),
    mistake("sign of the scores flipped", "The worst key gets the largest weight. Which sign do the scores have?",
            "weights = stable_softmax(torch.where(scores == -torch.inf, scores, -scores))"),
    mistake("logarithm of the weights", "The logarithms of the weights are used as weights. What is still to be done?",
            "weights = torch.log_softmax(scores, -1)"),
)

RANDOM = mistake("random numbers inside", "Two calls with the same inputs differ: something random, such as dropout, "
                 "happens inside. Do the rows still sum to 1 after it?",
                 "weights = torch.dropout(stable_softmax(scores), 0.1, True)",
                 detects=lambda trace: trace.used_global_random, even_if_right=False)


def epsilon(explains: Callable[[tuple[Any, ...], Any], bool], *sizes: float) -> tuple[Mistake, ...]:
    """Return the mistake of any epsilon, to stand before `another_scale`, which would take it for one.

    Args:
        explains: Whether an epsilon turns the arguments into a result; see `some_epsilon`.
        sizes: Further epsilons, too small to show in the values, that the gradients still betray.
    """
    shifted = "powers = (scores - scores.amax(-1, keepdim=True).clamp(min=-1e30)).exp()\n"
    return (
        mistake("epsilon in the denominator", "The rows sum to a little less than 1, since something small is added to "
                "every denominator. Which rows need help, and which are safe as they are?",
                *(f"{shifted}weights = powers / (powers.sum(-1, keepdim=True) + {size})" for size in (1e-6, *sizes)),
                matches=explains),
    )


def some_epsilon(scores: Tensor, right: Tensor, got: Tensor) -> bool:
    """Return whether `got` is `right` with an epsilon added to every row's sum of exponentials.

    Args:
        scores: What the exponentials are taken of, -inf where a key is hidden.
        right: The weights, or averages made with them.
        got: What an answer gave instead.
    """
    if got.shape != right.shape or not got.dtype == right.dtype == torch.float64:
        return False
    got, right, scores = got.detach(), right.detach(), scores.detach()
    full = right.abs().amax(-1) > 0.0
    share = (got * right).sum(-1)[full] / right.square().sum(-1)[full]
    lost, size = (1.0 / share - 1.0), right.abs().amax(-1)[full]
    off = (got[full] - share.unsqueeze(-1) * right[full]).abs().amax(-1)
    in_step = bool((off <= (1e-3 * lost.abs() + 1e-14) * size).all())
    if not len(share) or bool(got[~full].any()) or not in_step:
        return False
    for shift in (scores.amax(-1, keepdim=True), torch.zeros(())):
        total = (scores - shift).exp().sum(-1).expand(full.shape)[full]
        found = lost[lost.argmax()] * total[lost.argmax()]
        alike = ((lost * total - found).abs() <= 1e-3 * found.abs() + 1e-14 * total).all()
        if bool(alike) and 0.0 < float(found) <= 0.1:
            return True
    return False


def _rows_sum_to_one(args: tuple[Any, ...], weights: Tensor) -> str | None:
    return row_sums_broken(weights, torch.ones(weights.shape[:-1], dtype=torch.float64))


WEIGHT_LAWS = (
    Law("weights are never negative", weights_negative),
    Law("each row sums to 1", _rows_sum_to_one),
)
