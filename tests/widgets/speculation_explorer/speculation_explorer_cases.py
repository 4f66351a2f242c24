"""Values that Python accepts, draws and counts: the widget's JavaScript must agree."""

from typing import Any

import torch
from torch import Tensor

from course_utils.models import speculative_accept
from course_utils.widgets.speculation_explorer.speculation_explorer import COUNT, DRAFT, TARGET
from tests.widgets.widget_cases import mulberry32

FEW, MANY = 6, 400


def first_above(chances: Tensor, u: float) -> int:
    """Return the first token whose cumulative sum is above u times the total."""
    heights = chances.cumsum(0)
    return int((heights > u * heights[-1]).nonzero()[0])


def called(state: dict[str, Any], rounds: int) -> list[tuple[list[int], int, int]]:
    """Return for each call the drafted tokens, how many were accepted, and the token after them."""
    p, q = (torch.tensor(state[name]).double() / 100 for name in ("target", "draft"))
    gamma, each = state["gamma"], 2 * state["gamma"] + 1
    numbers = torch.tensor(mulberry32(state["seed"], rounds * each)).double().view(rounds, each)
    made = []
    for row in numbers:
        drafted = torch.tensor([first_above(q, u) for u in row[:gamma].tolist()])
        accepted, token = speculative_accept(
            drafted, q.expand(gamma, -1), p.expand(gamma + 1, -1), row[gamma:]
        )
        if state["from_target"]:
            token = first_above(p, row[-1].item())
        made.append((drafted.tolist(), accepted, token))
    return made


def counted(state: dict[str, Any], rounds: int) -> dict[str, Any]:
    """Return what a number of calls wrote, and how many drafted tokens were judged and accepted."""
    calls = called(state, rounds)
    wrote = [token for drafted, accepted, last in calls for token in (*drafted[:accepted], last)]
    return {
        "wrote": torch.bincount(torch.tensor(wrote), minlength=COUNT).tolist(),
        "judged": sum(min(accepted + 1, state["gamma"]) for _, accepted, _ in calls),
        "accepted": sum(accepted for _, accepted, _ in calls),
        "tokens": len(wrote),
    }


def long_run(state: dict[str, Any]) -> dict[str, Any]:
    """Return what the counts come to, from the law of every place of a call."""
    p, q = (torch.tensor(state[name]).double() / 100 for name in ("target", "draft"))
    both = torch.minimum(p, q)
    alpha, gamma = both.sum(), state["gamma"]
    wrong = p * (1 - alpha) if state["from_target"] else (p - q).clamp_min(0)
    written = torch.zeros_like(p)
    for place in range(gamma):  # it is reached where all before it were accepted
        written += alpha**place * (both + wrong)
    written += alpha**gamma * p
    return {
        "alpha": alpha.item(),
        "perCall": written.sum().item(),
        "shares": (written / written.sum()).tolist(),
    }


def moved_case(weights: tuple[int, ...], index: int, height: int) -> list[Any]:
    """Return the weights after one was moved; the others share the rest by largest remainder."""
    others = sum(weights) - weights[index]
    wanted = [
        (100 - height) * x / others if others else (100 - height) / (len(weights) - 1)
        for x in weights
    ]
    wanted[index] = height
    made = [int(x) for x in wanted]
    order = sorted(range(len(made)), key=lambda i: (made[i] - wanted[i], i))
    for i in order[: 100 - sum(made)]:
        made[i] += 1
    return [list(weights), index, height, made]


def settings(**changes: Any) -> dict[str, Any]:
    first = {"target": list(TARGET), "draft": list(DRAFT), "gamma": 4, "seed": 0}
    return {**first, "from_target": False, **changes}


def cases() -> dict[str, Any]:
    """Distributions that differ, agree, exclude each other; every gamma; both sources."""
    alone = [0, 0, 0, 100, 0, 0, 0, 0]
    apart = {"target": [25, 25, 25, 25, 0, 0, 0, 0], "draft": [0, 0, 0, 0, 25, 25, 25, 25]}
    states = [
        settings(), settings(from_target=True), settings(gamma=1, seed=5),
        settings(gamma=6, seed=2**31 - 1), settings(draft=list(TARGET), gamma=2),
        settings(**apart, gamma=3), settings(target=alone), settings(draft=alone, from_target=True),
    ]  # fmt: skip
    return {
        "rounds": [
            {"state": state, "calls": called(state, FEW), "count": MANY,
             "tally": counted(state, MANY), "longRun": long_run(state)}
            for state in states
        ],
        "moved": [
            moved_case(TARGET, 3, 60), moved_case(TARGET, 0, 0), moved_case(DRAFT, 1, 31),
            moved_case(TARGET, 7, 100), moved_case((0, 100, 0, 0, 0, 0, 0, 0), 1, 40),
            moved_case((1, 1, 1, 1, 1, 1, 1, 93), 7, 50),
        ],
    }  # fmt: skip
