"""Exercise: a head's weight on the keys that play a role, and the rate that equal weights would give."""

from typing import Any

import torch
from course_utils.checking.exercise import case, exercise
from course_utils.checking.inputs import Make, normal, strided
from course_utils.checking.mistakes import mistake
from course_utils.exercises.shared.kinds import NOTHING, left_in, other_dtype, overwritten, squeezed, writing
from course_utils.interpretability import role_share
from torch import Tensor

RIGHT = """
def role_share(weights, chosen):
    length = weights.shape[-1]
    table = weights
    seen = chosen.tril()
    counted = seen.any(-1)
    number = counted.sum().clamp(min=1)
    summed = (table * seen).sum(-1)
    total = (summed * counted).sum(-1)
    share = total / number
    visible = torch.arange(1, length + 1)
    equal = seen.sum(-1).double() / visible
    rate = (equal * counted).sum() / number
    base = rate.item()
    return share, base
"""


def _causal(g: torch.Generator, *shape: int) -> Tensor:
    scores, length = normal(g, *shape, shape[-1], size=1.5), shape[-1]
    return scores.masked_fill(torch.ones(length, length).triu(1) > 0, -torch.inf).softmax(-1)


def _roles(g: torch.Generator, length: int, rate: float) -> Tensor:
    """Draw keys of which some are behind their query; where there is room, two queries have none that counts."""
    chosen = torch.rand(length, length, generator=g) < rate
    if length > 3:
        chosen[1] = chosen[-2] = torch.arange(length) == length - 1
        chosen[2, 0] = chosen[2, 2] = chosen[0, 2] = True
    return chosen


def _made(*shape: int, rate: float = 0.5, dtype: torch.dtype = torch.float64) -> Make:
    return lambda g: (_causal(g, *shape).to(dtype), _roles(g, shape[-1], rate))


def _role(*shape: int, keys: Any) -> Make:
    """Make causal weights and, from tables of the places of query and key, the keys that are chosen."""

    def make(g: torch.Generator) -> tuple[Tensor, Tensor]:
        place = torch.arange(shape[-1])
        return _causal(g, *shape), keys(place.unsqueeze(-1), place.unsqueeze(0))

    return make


def _scaled(g: torch.Generator) -> tuple[Tensor, Tensor]:
    """Make rows that do not sum to 1, as dropout leaves them, and rows of zeros."""
    weights, chosen = _made(2, 3, 6)(g)
    weights = weights * torch.tensor([1.1, 0.7, 0.4, 0.0, 1.2, 0.9], dtype=torch.float64).unsqueeze(-1)
    weights[1, 2, 2] = 0.0
    return weights, chosen


def _hard(g: torch.Generator) -> tuple[Tensor, Tensor]:
    """Make heads that put exactly 0 on some of the chosen keys."""
    weights, chosen = _made(3, 7)(g)
    weights[0] = torch.eye(7)
    weights[1] = 0.0
    weights[1, :, 0] = 1.0
    weights[2] = weights[2].masked_fill(weights[2] < weights[2].amax(-1, keepdim=True), 0.0)
    return weights, chosen


def _three(g: torch.Generator) -> tuple[Tensor, Tensor]:
    weights = torch.tensor([[1.0, 0.0, 0.0], [0.6, 0.4, 0.0], [0.3, 0.5, 0.2]], dtype=torch.float64)
    return weights, torch.tensor([[False, False, True], [True, False, True], [True, True, False]])


_PER_HEAD = "counts = ((summed > 0) & counted).sum(-1).clamp(min=1)\n"

EXERCISE = exercise(
    role_share,
    right=RIGHT,
    asks="Average a head's weight on the chosen keys over the queries that have one, and give the base rate beside it.",
    minutes=6,
    difficulty=2,
    importance=4,
    parts=("share", "base"),
    cases=(
        case("3 tokens, one head", _three, tolerance=1e-6),
        case("the previous token: 5 tokens, a batch of shape (2, 3)", _role(2, 3, 5, keys=lambda i, j: j == i - 1),
             tolerance=1e-6),
        case("the first token: 6 tokens, 4 heads", _role(4, 6, keys=lambda i, j: (i >= 0) & (j == 0)), tolerance=1e-6),
        case("keys behind the query, and queries with no other: 7 tokens", _made(2, 3, 7), tolerance=1e-6),
        case("all keys are chosen", _role(2, 5, keys=lambda i, j: (i >= 0) & (j >= 0)), tolerance=1e-6),
        case("the query itself", _role(3, 5, keys=lambda i, j: i == j), tolerance=1e-6),
        case("one query has chosen keys", _role(2, 3, 6, keys=lambda i, j: (i == 4) & (j < 3)), tolerance=1e-6),
        case("rows that do not sum to 1, and rows of zeros", _scaled, tolerance=1e-6),
        case("weights of 0 on chosen keys", _hard, tolerance=1e-6),
        case("no key is chosen", _role(2, 3, 4, keys=lambda i, j: (i == j) & (i < 0)), tolerance=1e-6),
        case("all chosen keys are behind their query", _role(2, 4, keys=lambda i, j: j > i), tolerance=1e-6),
        case("no key is chosen, one head", _role(4, keys=lambda i, j: (i == j) & (i < 0)), tolerance=1e-6),
        case("no leading axis: 8 tokens", _made(8), tolerance=1e-6),
        case("one sequence, one head", _made(1, 1, 6), tolerance=1e-6),
        case("three leading axes", _made(2, 1, 3, 5), tolerance=1e-6),
        case("every size is 4", _made(4, 4, 4), tolerance=1e-6),
        case("one token, chosen", _role(2, 1, keys=lambda i, j: i == j), tolerance=1e-6),
        case("40 tokens, few chosen keys", _made(3, 40, rate=0.1), tolerance=1e-6),
        case("non-contiguous inputs", lambda g: tuple(map(strided, _made(2, 3, 6)(g))), tolerance=1e-6),
        case("float32", _made(2, 3, 7, dtype=torch.float32), tolerance=1e-5),
        case("float32, no key is chosen", lambda g: (_made(2, 3, 4, dtype=torch.float32)(g)[0],
                                                     torch.zeros(4, 4, dtype=torch.bool)), tolerance=1e-5),
    ),
    mistakes=(
        mistake("base over all keys", "The base rate divides by the length of the text. How many keys does query i "
                "see, and so how many share the weight if all are equal?",
                "visible = torch.tensor(length)", "rate = seen.double().mean()",
                "rate = seen[counted].double().mean().nan_to_num()"),
        mistake("keys behind the query counted", "Keys behind the query went into the base rate or decided which "
                "queries count. Which keys can query i see?",
                "seen = chosen", "counted = chosen.any(-1)", "equal = chosen.sum(-1).double() / visible",
                "counted = chosen.any(-1)\nequal = chosen.sum(-1).double() / visible",
                "seen = chosen\nvisible = torch.tensor(length)", "seen = chosen\nrate = seen.double().mean()"),
        mistake("a ratio of sums", "All chosen keys were divided by all visible ones, as if long rows counted more. "
                "What is averaged: the rate of each query, or the counts?",
                "rate = seen.sum().double() / (visible * counted).sum().clamp(min=1)",
                "rate = seen.sum().double() / visible.sum()",
                "rate = seen.sum().double() / (visible * counted).sum().clamp(min=1)\n"
                "share = total / (table.sum(-1) * counted).sum(-1).clamp(min=1e-12)",
                "rate = seen.sum().double() / number / ((visible.double() * counted).sum() / number).clamp(min=1)"),
        mistake("queries without a chosen key averaged in", "Queries that have no chosen key went into a mean, with 0. "
                "Over which queries does the mean run?",
                "number = torch.tensor(length)", "share = total / length", "rate = equal.sum() / length"),
        mistake("the largest weight", "Of several chosen keys only the one with the largest weight counts. What is "
                "their weight together?", "summed = (table * seen).amax(-1)"),
        mistake("mean entry instead of their sum", "The weights on a query's chosen keys were averaged. What is their "
                "weight together?", "summed = (table * seen).sum(-1) / seen.sum(-1).clamp(min=1)",
                "share = (table * seen).sum((-2, -1)) / seen.sum().clamp(min=1)",
                "summed = (table * seen).mean(-1)", "share = (table * seen).mean((-2, -1))",
                "share = table[..., seen].mean(-1).nan_to_num()"),
        mistake("transposed", "Query and key are exchanged. Which axis of each table asks?",
                "table = weights.mT", "seen = chosen.mT.tril()", "seen = chosen.triu()",
                "table = weights.mT\nseen = chosen.triu()", "seen = chosen.mT",
                "summed = (table * seen).sum(-2)", "counted = seen.any(-2)",
                "counted = seen.any(-2)\nsummed = (table * seen).sum(-2)",
                "counted = seen.any(-2)\nsummed = (table * seen).sum(-2)\n"
                "equal = seen.sum(-2).double() / visible"),
        mistake("one number for all heads", "All heads were averaged into one number. The share is there to tell heads "
                "apart: which axes stay?", "return share.mean(), base", "return share.mean().expand(share.shape), base",
                "return share.mean().item(), base", "return share.mean(-1), base", "return share.mean(0), base",
                "return share.mean(1), base", "return share.mean() if counted.any() else share, base"),
        mistake("one head for all", "Only one head was looked at. What becomes of the others?",
                "table = weights.reshape(-1, length, length)[0]",
                "table = weights.reshape(-1, length, length)[:1].expand(weights.shape)",
                "table = weights[..., :1, :, :].expand(weights.shape)", "table = weights[0]"),
        mistake("NaN on nothing", "Where no query has a chosen key, the mean is one of nothing: NaN. What does the "
                "exercise ask for there?", "number = counted.sum()", "share = total / counted.sum()",
                "rate = (equal * counted).sum() / counted.sum()",
                "share = summed[..., counted].mean(-1)", "rate = equal[counted].mean()",
                "share = summed[..., counted].mean(-1)\nrate = equal[counted].mean()"),
        mistake("an error on nothing", "Where no query has a chosen key, the function fails. What does the exercise "
                "ask for there?", "base = sum(equal[counted].tolist()) / len(equal[counted])",
                "base = (equal * counted).sum().item() / int(counted.sum())",
                "share = sum(summed[..., i] for i in counted.nonzero().flatten()) / len(counted.nonzero())\n"
                "base = sum(equal[counted].tolist()) / len(equal[counted])"),
        mistake("a plain 0 on nothing", "Where no query has a chosen key, the share has another kind or shape. Each "
                "head has one, also if it is 0.",
                *(f"return share if counted.any() else {zero}, base" for zero in (
                    "0.0", "0", "torch.tensor(0.0)", "torch.zeros(1)", "weights.new_zeros(())",
                    "weights.new_zeros(weights.shape[:-1])", "weights.new_zeros(weights.shape)")),
                "return (share, base) if counted.any() else 0.0"),
        mistake("something other than 0 on nothing", "Where no query has a chosen key, both results are to be 0.",
                "return (share, base) if counted.any() else (share, 1.0)",
                "return (share, base) if counted.any() else (share + 1, 1.0)",
                "return (share, base) if counted.any() else (share, 1 / length)",
                "return (share, base) if counted.any() else None"),
        mistake("sum instead of mean", "The sums of the queries were added up, not averaged: a long text would have a "
                "large share.", "number = torch.tensor(1)", "share = total", "rate = (equal * counted).sum()"),
        mistake("rows made to sum to 1", "The weights were divided by the sums of their rows. They are to be taken as "
                "they are.",
                "table = weights / weights.sum(-1, keepdim=True)",
                "table = weights / weights.sum(-1, keepdim=True).clamp(min=1e-12)",
                "table = F.normalize(weights, p=1, dim=-1)",
                "share = total / (table.sum(-1) * counted).sum(-1).clamp(min=1e-12)",
                "share = total / (table.sum(-1) * counted).sum(-1)",
                "share = total / table.sum((-2, -1))"),
        mistake("weights taken for scores", "A softmax was taken of the weights. They have been through one.",
                "table = weights.softmax(-1)"),
        mistake("keys seen counted wrongly", "The base rate divides by one key too few or too many. How many keys does "
                "query 0 see?", "visible = torch.arange(length).clamp(min=1)", "visible = torch.arange(2, length + 2)",
                "visible = torch.arange(length)", "visible = torch.arange(length, 0, -1)"),
        mistake("a base rate for one chosen key", "The base rate is that of one chosen key, or of any. How many "
                "of the keys that query i sees are chosen?",
                "equal = seen.any(-1).double() / visible", "equal = 1.0 / visible.double()",
                "base = (1.0 / visible.double()).mean().item()"),
        mistake("chosen keys not divided by the keys seen", "The base rate counts keys. What would be the weight on "
                "them if all keys that the query sees had the same?", "equal = seen.sum(-1).double()"),
        mistake("a count of queries for the base rate", "The base rate is the share of queries that have a chosen key. "
                "What would equal weights put on the chosen keys?", "rate = counted.double().mean()"),
        mistake("the base rate of all queries", "The base rate is that of equal weights on all keys of all queries: "
                "it does not depend on what is chosen, or on the queries that count.",
                "base = 1 / length", "base = 2 / (length + 1)", "base = 0.5"),
        mistake("the query's own key left out", "The query's own key does not count here. Query i sees keys 0 to i, "
                "its own included.", "seen = chosen.tril(-1)"),
        mistake("a key too many", "A key behind the query counts here. Query i sees keys 0 to i.",
                "seen = chosen.tril(1)"),
        mistake("the others instead of the chosen", "These are the weights on keys that are not chosen.",
                "seen = (~chosen).tril()", "seen = ~chosen", "summed = (table * ~seen).sum(-1)",
                "summed = (table * ~chosen).sum(-1)", "summed = table.sum(-1) - (table * seen).sum(-1)"),
        mistake("every key summed up", "All of a row was added up. Which keys count?", "summed = table.sum(-1)"),
        mistake("queries counted by their weight", "Queries that put nothing on their chosen keys were left out of the "
                "mean, so a head that rarely looks there seems to look there always.",
                f"{_PER_HEAD}share = total / counts", f"{_PER_HEAD}share = total / counts\nrate = (equal * counted *"
                " (summed.flatten(0, -2).amax(0) > 0 if summed.dim() > 1 else summed > 0)).sum() / number"),
        mistake("how often it is the top key", "This counts how often a chosen key has the largest weight. How large "
                "is the weight itself?",
                "summed = seen.expand(table.shape).gather(-1, table.argmax(-1, keepdim=True)).squeeze(-1).to("
                "table.dtype)",
                "summed = ((table * seen).sum(-1) > seen.sum(-1) / torch.arange(1, length + 1)).to(table.dtype)"),
        mistake("the median", "The query in the middle was taken, not the mean of them.",
                "share = summed[..., counted].median(-1).values if counted.any() else total"),
        mistake("the largest query", "One query with the largest weight was taken, not the mean of them.",
                "share = (summed * counted).amax(-1)"),
        mistake("one query left out", "The first or the last query does not count here. Which queries have a chosen "
                "key?", "counted = seen.any(-1) & (torch.arange(length) > 0)",
                "counted = seen.any(-1) & (torch.arange(length) < length - 1)"),
        mistake("one query alone", "Only the last query was looked at. The mean runs over all that have a chosen key.",
                "counted = seen.any(-1) & (torch.arange(length) == length - 1)", "share = summed[..., -1]"),
        mistake("divided by another number of queries", "The sums are right, but they were divided by a number that is "
                "not theirs. How many queries have a chosen key?", "number = counted.sum().clamp(min=1) + 1",
                "number = seen.sum().clamp(min=1)", "number = (counted.sum() - 1).clamp(min=1)",
                "number = seen.any(-2).sum().clamp(min=1)",
                "number = torch.tensor(max(1, length - 1))"),
        mistake("the share over the base rate", "The share was divided by the base rate, or the rate taken from it. "
                "Both are asked for, each by itself.", "return share / (base + 1e-9), base",
                "return share / max(base, 1e-12), base", "return share - base, base",
                "return share / base if base else share, base"),
        mistake("base rate from the weights", "The base rate comes from the weights. It is what *equal* weights would "
                "put there, whatever the head does.", "base = share.mean().item()", "base = table.mean().item()",
                "rate = (table.sum(-1).double() / visible * seen.sum(-1) * counted).mean()",
                "rate = table.double().mean()"),
        mistake("no mean over the queries", "There is one number for each query left. Over which axis is the mean "
                "taken?", "share = summed", "share = summed[..., counted]", "share = summed * counted",
                "share = summed[..., counted]\nbase = equal[counted]",
                "share = summed[..., counted] if counted.any() else total"),
        mistake("base as a tensor", "The base rate is to be a Python float, one number. Which method makes one of a "
                "tensor?", "base = rate", "base = rate.to(weights.dtype)", "base = rate.float()",
                "base = rate.expand(share.shape)", "base = rate.reshape(1)", "base = [rate.item()]", "base = equal",
                "base = equal[counted]", "base = rate.to(weights.dtype).expand(share.shape)",
                "base = rate if counted.any() else 0.0",
                "base = (seen.sum(-1) / visible)[counted].mean() if counted.any() else 0.0"),
        mistake("the two results exchanged", "Share and base rate came back in the other order.", "return base, share"),
        mistake("one of the two results missing", "Two results are asked for: the share and the base rate.",
                "return share", "return base", "return torch.stack([share, torch.full_like(share, base)])",
                "return share, base, counted"),
        mistake("share as numbers", "The shares came back as Python's numbers. A tensor with one share for each head "
                "is asked for.", "return share.tolist(), base", "return share.numpy(), base",
                "return share.numpy()[()], base",
                "return share.flatten().tolist(), base"),
        squeezed("return share{}, base"), left_in("return share{}, base"),
        mistake("rounded", "Right, but only to a few places after the point: something was rounded. Which line does "
                "that, and who asked for it?", "return share.round(decimals=3), round(base, 3)",
                "return share.round(decimals=4), base", "return share, round(base, 4)", "return share, round(base, 3)",
                "return share.round(decimals=2), round(base, 2)", "return share.round(decimals=4), round(base, 4)"),
        overwritten("table = weights.mul_(chosen.tril())", "seen = chosen.logical_and_(chosen.tril())",
                    *writing(role_share, 0, 1)),
        mistake("a fixed number of axes", "It fits one number of axes, and fails where there are others. Any leading "
                "axes may stand before the last two: what takes them all, in an einsum, a product or a shape?",
                "summed = torch.einsum('bhij,ij->bhi', table, seen.to(table.dtype))",
                "summed = torch.einsum('hij,ij->hi', table, seen.to(table.dtype))",
                "summed = torch.einsum('ij,ij->i', table, seen.to(table.dtype))",
                "B, H, L, _ = weights.shape\nlength = L", "H, L, _ = weights.shape\nlength = L"),
        mistake("axes counted from the front", "A sum runs over an axis that is the right one for some numbers of "
                "axes only. Which one holds the keys, counted from the end?",
                "summed = (table * seen).sum(1)", "summed = (table * seen).sum(2)", "summed = (table * seen).sum(3)",
                "length = weights.shape[0]", "length = weights.shape[1]"),
        NOTHING,
        other_dtype(*(f"return share.to(torch.{kind}), base" for kind in ("float32", "float64", "float16", "bfloat16")),
                    "return share if counted.any() else torch.zeros(weights.shape[:-2]), base"),
    ),
    hints=(
        "By hand: the chosen keys of query 2 are 0 and 1, and it puts .3 and .5 on them. What is its share, and what "
        "would it be if the query gave its three keys the same weight?",
        "`chosen.tril()` leaves the keys that a query sees. `any(-1)` of that says which queries count, in both means.",
        "Chosen keys seen, divided by the keys seen, is a column of L numbers: query i sees i + 1. Average it over the "
        "same queries; the mean of no queries needs a line of its own.",
    ),
)
