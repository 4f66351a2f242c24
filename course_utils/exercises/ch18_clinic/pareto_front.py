"""Exercise: which of several choices nothing beats."""

from collections.abc import Sequence

import torch
from course_utils.checking.exercise import Case, case, exercise
from course_utils.checking.mistakes import mistake
from course_utils.clinic import pareto_front
from course_utils.exercises.shared.kinds import overwritten

RIGHT = """
def pareto_front(cost, quality):
    cheaper = cost[:, None] < cost
    better = quality[:, None] > quality
    no_dearer = cost[:, None] <= cost
    no_worse = quality[:, None] >= quality
    beats = (no_dearer & no_worse) & (cheaper | better)
    beaten = beats.any(dim=0)
    keep = ~beaten
    return keep
"""


def _points(name: str, cost: list[float], quality: list[float], dtype: torch.dtype = torch.float64) -> Case:
    return case(name, lambda g: (torch.tensor(cost, dtype=dtype), torch.tensor(quality, dtype=dtype)))


def _random(count: int, levels: int) -> Case:
    def make(g: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
        drawn = torch.randint(0, levels, (2, count), generator=g).double()
        return drawn[0], drawn[1]

    return case(f"{count} points on a grid of {levels} × {levels}, with ties", make)


def _tolerant(room: float) -> str:
    """Return the lines that compare with some room on both sides."""
    return (
        f"no_dearer = cost[:, None] <= cost + {room}\nno_worse = quality[:, None] >= quality - {room}\n"
        f"cheaper = cost[:, None] < cost - {room}\nbetter = quality[:, None] > quality + {room}"
    )


def _of_rounded(rounded: str, names: Sequence[str] = ("cost", "quality")) -> str:
    """Return the lines that compare rounded values of these."""
    lines = {
        "cost": "cheaper = {0}[:, None] < {0}\nno_dearer = {0}[:, None] <= {0}",
        "quality": "better = {0}[:, None] > {0}\nno_worse = {0}[:, None] >= {0}",
    }
    return "\n".join(lines[name].format(rounded.format(name)) for name in names)


_BY_SORTING = """
def pareto_front(cost, quality):
    order = cost.argsort(stable=True)
    best, kept = -torch.inf, []
    for i in order.tolist():
        if quality[i] {sign} best:
            kept.append(i)
            best = quality[i]
    keep = torch.zeros(len(cost), dtype=torch.bool)
    keep[kept] = True
    return keep
"""

EXERCISE = exercise(
    pareto_front,
    right=RIGHT,
    asks="Mark the points that no other point beats: less cost and more quality are better.",
    minutes=8,
    difficulty=2,
    importance=3,
    cases=(
        _points("4 points, one of them beaten", [1, 2, 3, 4], [0.2, 0.6, 0.5, 0.9]),
        _points("not in the order of cost", [4, 1, 3, 2], [0.9, 0.2, 0.5, 0.6]),
        _points("every point on the front", [1, 2, 3], [0.1, 0.2, 0.3]),
        _points("one point beats the others", [3, 1, 2], [0.3, 0.9, 0.8]),
        _points("costs with decimals", [1.3, 1.8, 1.2, 2.4], [0.51, 0.54, 0.49, 0.54]),
        _points("equal points on the front", [1, 2, 2, 3], [0.2, 0.6, 0.6, 0.5]),
        _points("equal points that are beaten", [2, 2, 1], [0.5, 0.5, 0.6]),
        _points("all points equal", [1, 1, 1], [0.5, 0.5, 0.5]),
        _points("the same cost, different quality", [1, 1, 2], [0.3, 0.5, 0.7]),
        _points("the same cost, the better point first", [1, 1, 2], [0.5, 0.3, 0.7]),
        _points("the same quality, different cost", [1, 2, 3], [0.5, 0.5, 0.5]),
        _points("the same quality, the cheapest point last", [3, 2, 1], [0.5, 0.5, 0.5]),
        _points("negative numbers", [-2, -1, -3], [-0.5, -0.2, -0.1]),
        _points("one point", [5], [0.1]),
        _points("no points", [], []),
        _points("infinite cost and quality", [torch.inf, 1, torch.inf, 2], [torch.inf, 0.5, 0.2, -torch.inf]),
        _points("both cost and quality higher by 1e-12", [1.0, 1.0 + 1e-12], [0.5, 0.5 + 1e-12]),
        _points("numbers that differ in the last bit", [1.0, 1.0 + 2**-52, 3.0, 3.0], [0.5, 0.5, 0.7, 0.7 - 2**-53]),
        _points("float32", [1, 3, 2, 2], [0.2, 0.6, 0.7, 0.7], dtype=torch.float32),
        _random(7, 3),
        _random(30, 6),
        case("40 random points", lambda g: tuple(torch.randn(2, 40, generator=g, dtype=torch.float64))),
    ),
    mistakes=(
        mistake("equal points thrown out", "Two equal points threw each other out. Is a point beaten by one that is "
                "better in nothing?", "beats = (no_dearer & no_worse) & ~torch.eye(len(cost), dtype=torch.bool)"),
        mistake("beaten by itself", "Every point was thrown out: each is at least as good as itself, and as its "
                "equals. What does it take besides to beat a point?",
                "beats = no_dearer & no_worse"),
        mistake("one of two equal points kept", "Of equal points only one was kept. What makes one of them worse?",
                _BY_SORTING.replace("{sign}", ">").replace("order = cost.argsort(stable=True)",
                "order = torch.tensor(sorted(range(len(cost)), key=lambda i: (cost[i], -quality[i])), "
                "dtype=torch.long)")),
        mistake("strict in both", "A point that is as cheap as a better one was kept, or one that is as good as a "
                "cheaper one. How much better must another be, and in how many of the "
                "two?", "beats = cheaper & better"),
        mistake("only the quality strict", "Of two points of the same quality the more expensive one was kept. In "
                "which of the two may the other be better?", "beats = no_dearer & better"),
        mistake("only the cost strict", "Of two points of the same cost the worse one was kept. In which of the two "
                "may the other be better?", "beats = no_worse & cheaper"),
        mistake("only some of the others compared", "A point was compared only with those that come before it, or only "
                "with those after it. Which points can beat it?",
                "beats = ((no_dearer & no_worse) & (cheaper | better)).triu()",
                "beats = ((no_dearer & no_worse) & (cheaper | better)).tril()",
                "beats = ((no_dearer & no_worse) & (cheaper | better)) & torch.eye(len(cost)).roll(1, -1).bool()"),
        mistake("better in one is enough", "A point was thrown out because another is better in one of the two, and "
                "worse in the other. What does it take to beat it?", "beats = cheaper | better"),
        mistake("more cost taken for better", "The expensive points were kept. Which direction of cost is better?",
                "cheaper = cost[:, None] > cost\nno_dearer = cost[:, None] >= cost"),
        mistake("less quality taken for better", "The points of low quality were kept. Which direction of quality is "
                "better?", "better = quality[:, None] < quality\nno_worse = quality[:, None] <= quality"),
        mistake("the two exchanged", "Every point was judged the other way round: cost was taken for quality, or the "
                "axis of those that beat for the axis of those that are beaten.", "beaten = beats.any(dim=1)",
                "cheaper = quality[:, None] < quality\nbetter = cost[:, None] > cost\n"
                "no_dearer = quality[:, None] <= quality\nno_worse = cost[:, None] >= cost"),
        mistake("those that beat another", "These are the points that beat some other one. Which points are asked for?",
                "keep = beats.any(dim=1)"),
        mistake("the beaten ones marked", "True marks the points that are beaten. What does `keep` "
                "mean?", "keep = beaten"),
        mistake("beaten by all only", "A point was dropped only where every other beats it. How many does it take?",
                "beaten = beats.all(dim=0)"),
        mistake("indices for a mask", "These are the numbers of the points. The result has one bool for each point.",
                "return keep.nonzero().squeeze(-1)", "return keep.nonzero()",
                "return [i for i, one in enumerate(keep.tolist()) if one]"),
        mistake("the points for a mask", "These are the points themselves, or their order. The result has one bool for "
                "each point.", "return cost[keep]", "return torch.stack([cost[keep], quality[keep]])",
                "return cost[keep], quality[keep]"),
        mistake("numbers for bools", "The result must be of dtype bool, one for each point.", "return keep.double()",
                "return keep.float()", "return keep.long()",
                "return keep.int()", "return keep.tolist()"),
        mistake("sorted by cost and left there", "The marks belong to the points in order of cost, not in the order in "
                "which they came. Which point is the first one of the result?",
                "keep = ~beaten[cost.argsort(stable=True)]"),
        mistake("only neighbours in cost compared", "Each point was compared with the next cheaper one alone. Which "
                "points can beat it?", """
def pareto_front(cost, quality):
    order = cost.argsort(stable=True)
    keep = torch.ones(len(cost), dtype=torch.bool)
    for one, other in zip(order[:-1].tolist(), order[1:].tolist()):
        keep[other] = quality[other] > quality[one]
    return keep
"""),
        mistake("points already given in order", "The points were walked as they came, as if they were sorted by cost.",
                _BY_SORTING.replace("{sign}", ">").replace("cost.argsort(stable=True)", "torch.arange(len(cost))"),
                _BY_SORTING.replace("{sign}", ">=").replace("cost.argsort(stable=True)", "torch.arange(len(cost))")),
        mistake("ties in cost not looked at", "The points were walked in order of cost alone. In which order do points "
                "of the same cost come?", _BY_SORTING.replace("{sign}", ">"), _BY_SORTING.replace("{sign}", ">=")),
        mistake("rounded, or a tolerance", "Points that differ by very little were taken for equal. The numbers are to "
                "be compared as they are.", *(_tolerant(room) for room in (1e-12, 1e-9, 1e-8, 1e-6, 1e-3)),
                "no_dearer = cost[:, None] <= cost + 1e-9\nno_worse = quality[:, None] >= quality - 1e-9",
                "cheaper = cost[:, None] < cost - 1e-9\nbetter = quality[:, None] > quality + 1e-9",
                *(_of_rounded(f"{{}}.round(decimals={places})") for places in (0, 1, 2, 3, 4, 6, 8, 10, 12)),
                _of_rounded("{}.float()"), _of_rounded("{}.long()"), _of_rounded("{}.long()", ("cost",))),
        mistake("the best of each", "Only the cheapest and the best points were kept. Which others does nothing beat?",
                "keep = (cost == cost.amin()) | (quality == quality.amax()) if len(cost) else ~beaten"),
        mistake("no points forgotten", "Without any points the call fails: the least and the greatest of nothing do "
                "not exist. Which line needs one?", "best = quality.max()\nkeep = ~beaten & (quality <= best)",
                "least = cost.min()\nkeep = ~beaten & (cost >= least)"),
        overwritten("turned = cost.neg_()\ncheaper = turned[:, None] > turned\nno_dearer = turned[:, None] >= turned",
                    "turned = quality.neg_()\nbetter = turned[:, None] < turned\nno_worse = turned[:, None] <= turned"),
        mistake("the best ratio", "Quality was divided by cost. Two numbers that are not added up or divided are what "
                "a front is for.", "keep = quality / cost == (quality / cost).amax() if len(cost) else ~beaten"),
    ),
    hints=(
        "When does point j beat point i? Write it for one pair, in words, with 'at least as good' and 'better'.",
        "`cost[:, None]` against `cost` compares every point with every other one in a table. Which axis is the one "
        "that is beaten?",
        "A point does not beat itself, nor its equal: nothing is better there. So no special case is needed.",
        "A loop over all pairs is just as good; so is a walk in order of cost that remembers the best quality, if it "
        "treats ties with care.",
    ),
)  # fmt: skip
