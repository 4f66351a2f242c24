"""Checks of the claims of chapter 13; what needs training is read from a record."""

import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from course_utils.attention import attention_weights
from course_utils.claims._inputs import draw, draws, largest, recorded, row
from course_utils.claims.finding import Finding, recomputes, undecided, weigh
from course_utils.interpretability import attention_entropy, attention_flow, attention_rollout


def untrained(seed: int) -> Tensor:
    """Return the weights of a head that was drawn and not trained."""
    x, (W_q, W_k) = draw(12, 16), draws((16, 16), (16, 16), seed=seed)
    return attention_weights(x @ W_q / 4, x @ W_k / 4)


def alike(a: Tensor, b: Tensor) -> float:
    """Return the correlation of two tables of weights."""
    return float(torch.corrcoef(torch.stack([a.flatten(), b.flatten()]))[0, 1])


def trained() -> dict[str, Any]:
    """Return a recorded induction model: two layers of one head, 400 steps."""
    return recorded("chapter_13_induction")[0]


@recomputes("13-01", "13-15")
def heatmaps_reveal_specialisation() -> Finding:
    """Untrained heads drawn apart, on random input; and a head that was trained."""
    heads = [untrained(10 * seed) for seed in range(4)]
    same = max(abs(alike(a, b)) for i, a in enumerate(heads) for b in heads[:i])
    induction = trained()["induction"][1][0]
    return weigh(
        f"four untrained heads correlate by at most {same:.2f}: they differ by their draw alone; "
        f"trained, one puts {induction:.0%} of its weight where induction says",
        holds=same > 0.5,
        amended=induction > 0.5,
    )


@recomputes("13-05")
def weights_agree_weakly_with_gradients() -> Finding:
    """Rank correlation with gradients, and other weights for the same prediction (2019)."""
    lstm, words = (recorded("chapter_13_rankings", "pooled", encoder=e) for e in ("lstm", "words"))
    states, plain = ([run["with_gradient"] for run in runs] for runs in (lstm, words))
    other = max(run["adversarial"] for run in lstm)
    lost = max(run["right"] - run["right_even"] for run in lstm)
    return weigh(
        f"over LSTM states {min(states):.2f} to {max(states):.2f}, over plain words "
        f"{min(plain):.2f} to {max(plain):.2f}; other weights as far away as {other:.2f} give the "
        f"same prediction; trained with even weights, an LSTM loses at most {lost:.1%}",
        holds=max(states) < 0.3 and other > 0.3,
    )


@recomputes("13-06")
def weights_follow_a_spurious_cue() -> Finding:
    """A cue that is planted, recorded; the paper named (2019) tested no such thing."""
    runs = recorded("chapter_13_rankings", "cues")
    kinds = {run["encoder"] for run in runs}
    alone = kinds & {"words"}  # a state of an LSTM has read the whole document
    told = ("cue tells the truth", "cue misleads")
    times = [run[how]["weight_over_even"] for run in runs for how in told]
    misled = max(run["cue misleads"]["right"] for run in runs)
    return undecided(
        f"{min(times):.0f} to {max(times):.0f} times its share of the weight, and at most "
        f"{misled:.0%} right where it misleads; in {len(alone)} of {len(kinds)} kinds of model a "
        "weight belongs to a word alone",
        for_it=min(times) > 2,
        against=len(alone) < len(kinds),  # elsewhere it belongs to what the whole text made of it
    )


@recomputes("13-08")
def rollout_multiplies_from_the_first() -> Finding:
    """A_1 x A_2 x ... x A_L against A_L ... A_2 A_1: how often the top source differs."""
    changed = []
    for seed in range(60):
        layers = (2 * draw(6, 8, 8, seed=seed)).softmax(-1)
        right = wrong = torch.eye(8).double()
        for weights in layers:
            right, wrong = weights @ right, wrong @ weights
        changed.append((right.argmax(-1) != wrong.argmax(-1)).double().mean())
    ours = attention_rollout([weights[None, None] for weights in layers], residual=0.0)[0]
    off = largest(ours, right)
    share = float(torch.stack(changed).mean())
    return weigh(
        f"the published order gives {share:.0%} of the tokens another top source; A_L ... A_1 is "
        f"ours within {off:.0e}",
        holds=share < 0.01,
    )


@recomputes("13-09")
def flow_is_attention_times_gradient() -> Finding:
    """The flow through two layers of three tokens, by all cuts; it asks for no gradient."""
    layers = list(draw(2, 3, 3).softmax(-1))
    flow = attention_flow(layers, 0, 2)
    capacities = [0.5 * weights + 0.5 * torch.eye(3).double() for weights in layers]
    cut = min(
        float(sum(capacities[1][2, m] for m in range(3) if m not in kept))
        + float(sum(capacities[0][m, 0] for m in kept))
        for kept in ([m for m in range(3) if bits >> m & 1] for bits in range(8))
    )
    slope = draw(3, 3, seed=4)
    product = float((layers[1] * slope.abs())[2, 0])
    return weigh(
        f"flow {flow:.4f}, the least cut {cut:.4f}, no gradient asked for; attention times "
        f"|gradient| {product:.4f}",
        holds=abs(flow - product) < 1e-6 and abs(flow - cut) > 1e-6,
    )


@recomputes("13-11")
def entropy_falls_with_depth() -> Finding:
    """A small GPT, recorded, and an induction model written by hand: the reverse."""
    falls = []
    for run in recorded("chapter_13_heads"):
        one, two = ([h["entropy"] for h in run["heads"] if h["layer"] == n] for n in (1, 2))
        falls.append(max(two) < min(one))
    tokens = torch.tensor([3, 1, 2, 3, 1, 2, 3])
    first = torch.eye(7).double().roll(1, 0)[-1:]  # all on the token before
    matches = (tokens[:-1] == tokens[-1]).double()
    ends = [abs(float(attention_entropy(w))) for w in (first, (matches / matches.sum())[None])]
    return undecided(
        f"a GPT's second layer is narrower in {sum(falls)} of {len(falls)} seeds; in an induction "
        f"model by hand entropy rises from {ends[0]:.2f} to {ends[1]:.2f}",
        for_it=all(falls),
        against=ends[1] > ends[0],
    )


@recomputes("13-12")
def all_on_the_first_token_is_a_fault() -> Finding:
    """A head that rests on the start token while nothing matches, and what is lost without it."""
    run = trained()
    rest, later = run["start_first_copy"][1][0], run["start_later"][1][0]
    return undecided(
        f"{rest:.0%} of its weight is on the start token while nothing matches, {later:.0%} after; "
        f"without the head {run['without_head'][1]:.0%} right for {run['right']:.0%}",
        for_it=rest > 0.5,
        against=run["without_head"][1] < run["right"] / 2,
    )


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
    """Measure which share of the entries is 0, in training mode and in eval()."""
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
