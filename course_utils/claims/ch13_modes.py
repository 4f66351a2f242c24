"""Checks of the claims of chapter 13 about entropy, modes and fixed bins."""

import math

import torch
from torch import nn
from torch.nn import functional as F

from course_utils.claims._inputs import draw, row
from course_utils.claims.finding import Finding, recomputes, weigh
from course_utils.reading import attention_entropy


@recomputes("13-10")
def entropy_is_low_where_peaked() -> Finding:
    """One weight of 1, and even weights: from 0 to ln n."""
    peaked, even = torch.eye(32)[:1].double(), torch.full((1, 32), 1 / 32).double()
    ends = [abs(float(attention_entropy(weights))) for weights in (peaked, even)]
    return weigh(
        f"{ends[0]:.2f} and {ends[1]:.4f} of ln 32 = {math.log(32):.4f}",
        holds=ends[0] < 1e-9 and abs(ends[1] - math.log(32)) < 1e-9,
    )


def _entropies(training: bool) -> list[float]:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        layer = nn.MultiheadAttention(16, 2, dropout=0.1, batch_first=True).train(training)
        x = torch.randn(2, 32, 16)
        tables = [layer(x, x, x)[1].detach() for _ in range(6)]
    return [float(-(table * table.clamp_min(1e-12).log()).sum(-1).mean()) for table in tables]


@recomputes("13-13")
def plot_of_entropy_by_layer() -> Finding:
    """One layer, six times on one input, in training mode and in eval()."""
    train, evaluated = _entropies(True), _entropies(False)
    return weigh(
        f"training {row(torch.tensor(train))}, eval() {row(torch.tensor(evaluated))}",
        holds=max(evaluated) - min(evaluated) > 1e-3,
    )


@recomputes("13-14")
def six_panels_show_patterns() -> Finding:
    """What share of the entries drawn in training mode is 0, and in eval()."""
    weights = draw(6, 32, 32).softmax(-1)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        shown = [F.dropout(weights, 0.1, mode) for mode in (True, False)]
    gone = [float((table == 0).double().mean()) for table in shown]
    return weigh(
        f"{gone[0]:.0%} of the entries are removed in training mode, {gone[1]:.0%} in eval()",
        holds=gone[0] == 0,
        amended=gone[1] == 0,
    )


@recomputes("13-16")
def fixed_bins_of_weights() -> Finding:
    """High from 0.7, medium from 0.4, low from 0.1: even weights of 2, 8 and 50 keys."""
    names = {n: _bin(1 / n) for n in (2, 8, 50)}
    peaked = _bin(0.9)
    return weigh(
        f"even weights of 2, 8 and 50 keys: {names}; with 50 keys the even weight is {1 / 50}",
        holds=len(set(names.values())) == 1,
        amended=peaked == "high",
    )


def _bin(weight: float) -> str:
    bins = ((0.7, "high"), (0.4, "medium"), (0.1, "low"), (0.0, "minimal"))
    return next(name for least, name in bins if weight >= least)
