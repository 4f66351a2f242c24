"""Exercise: each object gets a query of its own, at the least cost."""

import itertools

import torch
from course_utils.checking.exercise import Law, case, exercise
from course_utils.checking.inputs import Make, normal, strided
from course_utils.checking.mistakes import mistake
from course_utils.exercises.shared.kinds import NOTHING, overwritten, squeezed, writing
from course_utils.models import match_queries
from torch import Tensor

RIGHT = """
def match_queries(cost):
    batch, queries, objects = cost.shape
    used = cost
    choices = ways(queries, objects)
    parts = used[:, choices, torch.arange(objects)]
    totals = parts.sum(-1)
    best = totals.argmin(-1)
    query = choices[best]
    return query
"""


def ways(queries: int, objects: int) -> Tensor:
    """Return every way to give each object a query of its own."""
    return torch.tensor(list(itertools.permutations(range(queries), objects)))


def in_turn(cost: Tensor, backwards: bool = False) -> Tensor:
    """Let the objects choose one after another."""
    left, query = cost.clone(), torch.zeros(cost.shape[0], cost.shape[2], dtype=torch.long)
    for t in reversed(range(cost.shape[2])) if backwards else range(cost.shape[2]):
        query[:, t] = left[:, :, t].argmin(1)
        left.scatter_(1, query[:, t].view(-1, 1, 1).expand(-1, 1, cost.shape[2]), torch.inf)
    return query


def cheapest_first(cost: Tensor) -> Tensor:
    """Take the cheapest pair of all that is left, again and again."""
    left, query = cost.clone(), torch.zeros(cost.shape[0], cost.shape[2], dtype=torch.long)
    for _ in range(cost.shape[2]):
        for b, one in enumerate(left):
            q, t = divmod(int(one.argmin()), cost.shape[2])
            query[b, t] = q
            one[q], one[:, t] = torch.inf, torch.inf
    return query


def by_what_is_lost(cost: Tensor) -> Tensor:
    """Let the object choose first that would lose most by its second choice."""
    left, query = cost.clone(), torch.zeros(cost.shape[0], cost.shape[2], dtype=torch.long)
    for b, one in enumerate(left):
        waiting = list(range(cost.shape[2]))
        while waiting:
            best = {t: one[:, t].sort().values[:2].tolist() for t in waiting}
            t = max(waiting, key=lambda t: best[t][-1] - best[t][0])
            query[b, t] = one[:, t].argmin()
            one[query[b, t]] = torch.inf
            waiting.remove(t)
    return query


def each_its_own(cost: Tensor, last: bool) -> Tensor:
    """Let each query take its cheapest object; of several on one object, the first or the last stays."""
    query = torch.zeros(cost.shape[0], cost.shape[2], dtype=torch.long)
    for b, one in enumerate(cost):
        for q in range(len(one)) if last else reversed(range(len(one))):
            query[b, one[q].argmin()] = q
    return query


def by_queries(cost: Tensor) -> Tensor:
    """Let the queries choose one after another, until no object is left."""
    left, query = cost.clone(), torch.zeros(cost.shape[0], cost.shape[2], dtype=torch.long)
    for q in range(cost.shape[2]):
        for b, one in enumerate(left):
            t = int(one[q].argmin())
            query[b, t], one[:, t] = q, torch.inf
    return query


def _told(*tables: tuple[tuple[float, ...], ...], dtype: torch.dtype = torch.float64) -> Make:
    return lambda g: (torch.tensor(tables, dtype=dtype),)


def _drawn(*shape: int, size: float = 1.0, shift: float = 0.0, dtype: str = "float64", spread: bool = False) -> Make:
    def make(g: torch.Generator) -> tuple[Tensor]:
        cost = (normal(g, *shape, size=size) + shift).to(getattr(torch, dtype))
        return (strided(cost) if spread else cost,)

    return make


def _dearer(args: tuple[Tensor], got: Tensor) -> bool:
    """Return whether every object has a query of its own, and another choice costs less in all."""
    cost, one_each = args[0], all(len(set(row)) == len(row) for row in got.tolist())
    spent, least = (cost.gather(1, query.unsqueeze(1)).sum(-1) for query in (got, match_queries(cost)))
    return one_each and bool((spent >= least - 1e-9).all())


def _twice(args: tuple[Tensor], got: Tensor) -> str | None:
    queries = args[0].shape[1]
    for b, row in enumerate(got.tolist()):
        if any(not 0 <= q < queries for q in row):
            return f"Sequence {b} has the queries {row}, of {queries}."
        if len(set(row)) < len(row):
            return f"In sequence {b} a query serves two objects: {row}."
    return None


_CONTESTED = ((2.0, 2.5), (2.2, 9.0), (9.0, 9.5))
_LOSING = ((2.0, 2.0, 9.0), (2.1, 9.0, 9.0), (9.0, 3.0, 2.5), (9.0, 9.0, 3.0))
EXERCISE = exercise(
    match_queries,
    right=RIGHT,
    asks="Give each object a query of its own, so that the sum of the costs is the smallest; whole numbers come back.",
    minutes=12,
    difficulty=3,
    importance=3,
    cases=(
        case("3 queries, 2 objects that want the same one", _told(_CONTESTED)),
        case("4 queries, 3 objects: the first to choose takes too much", _told(_LOSING)),
        case("2 sequences, 3 queries, 2 objects", _drawn(2, 3, 2)),
        case("3 sequences, 4 queries, 4 objects", _drawn(3, 4, 4)),
        case("3 of everything", _drawn(3, 3, 3)),
        case("one object", _drawn(3, 5, 1)),
        case("one query, one object", _drawn(2, 1, 1)),
        case("6 queries, 4 objects, costs above 0", _drawn(4, 6, 4, shift=6.0)),
        case("costs below 0, as logarithms of probabilities are", _drawn(3, 5, 3, shift=-6.0)),
        case("one sequence, 8 queries, 3 objects", _drawn(1, 8, 3)),
        case("5 sequences, 6 queries, 5 objects", _drawn(5, 6, 5)),
        case("large costs", _drawn(2, 5, 3, size=1e6)),
        case("small costs", _drawn(2, 5, 3, size=1e-6)),
        case("non-contiguous costs", _drawn(2, 5, 4, spread=True)),
        case("float32", _drawn(3, 6, 3, dtype="float32")),
    ),
    mistakes=(
        mistake("a query twice", "Each object took its cheapest query, so two objects can share one. Where two want "
                "the same, what do both choices cost together?", "query = used.argmin(1)"),
        mistake("greedy", "Objects or pairs were served one after another, each with the cheapest that was left. What "
                "does an early choice cost those that come later?", "query = in_turn(used)",
                "query = cheapest_first(used)", "query = in_turn(used, True)", "query = by_queries(used)"),
        mistake("each query its cheapest object", "Each query took the object that is cheapest for it, and where "
                "several took the same, one of them stayed. Who chooses for whom, and what of an object that nobody "
                "takes?", "query = each_its_own(used, True)", "query = each_its_own(used, False)"),
        mistake("object of each query", "These are objects, one for each query. What is wanted is a query for each "
                "object: which of the two axes is left in the result?", "query = choices[best].argsort(-1)",
                "places = torch.full((batch, queries), -1)\n"
                "return places.scatter(1, choices[best], torch.arange(objects).expand(batch, -1))",
                "return used.argmin(2)", "return used.argmin(2)[:, "
                ":objects]", "return torch.arange(objects).expand(batch, -1)"),
        mistake("the queries sorted", "The right queries came back in the order of their numbers, not of the objects. "
                "Whose query is the first entry?", "query = choices[best].sort(-1).values"),
        mistake("objects in order only", "Only choices in which the queries rise with the objects were tried. Object "
                "0 may well get the last query.",
                "choices = torch.tensor(list(itertools.combinations(range(queries), objects)))"),
        mistake("one matching for the batch", "All sequences got one matching. Each has costs of its own.",
                "query = choices[totals.sum(0).argmin()].expand(batch, -1)",
                "query = choices[best][:1].expand(batch, -1)",
                "query = choices[totals.amin(0).argmin()].expand(batch, -1)"),
        mistake("the most expensive", "This is the matching of the largest cost. A cost is to be as small as can be.",
                "best = totals.argmax(-1)", "used = -cost"),
        mistake("the worst of the costs", "The largest single cost was made small. What is asked for is the smallest "
                "sum.", "totals = parts.amax(-1)", "totals = parts.amin(-1)", "totals = parts.prod(-1)"),
        mistake("the costs changed", "The sum was taken of other numbers: of squares or sizes, of rounded costs, or "
                "of costs cut off at 0. They are added as they are, those below 0 as well.",
                "totals = parts.square().sum(-1)", "totals = parts.abs().sum(-1)",
                "totals = parts.clamp(min=0).sum(-1)", "used = cost.softmax(1)", "used = cost.softmax(2)",
                "used = cost.exp()", "used = cost.round()", "used = cost.long()"),
        mistake("queries and objects exchanged", "Rows and columns of the costs were taken for each other. Which axis "
                "of (B, Q, T) are the queries?", "used = cost.mT.reshape(cost.shape)"),
        mistake("only the first queries", "Only as many queries were looked at as there are objects. Which of all Q "
                "may serve?", "choices = ways(objects, objects)"),
        mistake("an object left out", "The first or last object was left out of the sum. Which objects need a query?",
                "totals = parts[..., :-1].sum(-1)", "totals = parts[..., 1:].sum(-1)"),
        mistake("queries counted from 1", "The numbers are one too large. The first query has number 0.",
                "return query + 1"),
        mistake("queries counted through the batch", "The queries are counted on from sequence to sequence. Each "
                "sequence begins with query 0.", "return query + queries * torch.arange(batch).unsqueeze(-1)"),
        mistake("the costs returned too", "Queries and costs came back together. Only the queries are asked for.",
                "return query, totals.amin(-1)", "return query, parts.gather(1, best.view(-1, 1, 1)."
                "expand(-1, 1, objects)).squeeze(1)"),
        mistake("transposed", "There is a row for each object. Which axis of (B, T) counts the sequences?",
                "return query.mT"),
        mistake("the costs instead of the queries", "These are costs, not the numbers of the queries.",
                "return totals.amin(-1)", "return parts.gather(1, best.view(-1, 1, 1).expand(-1, 1, objects))"
                ".squeeze(1)"),
        mistake("the number of the choice", "This says which of the tried choices is best, not which queries it holds.",
                "return best"),
        mistake("a table instead of numbers", "A table says who goes with whom. What is wanted is the number of the "
                "query of each object.",
                "return F.one_hot(query, queries).mT", "return F.one_hot(query, queries).bool().mT",
                "return F.one_hot(query, queries)"),
        mistake("another kind than whole numbers", "The numbers of the queries are whole: `long`, in one tensor.",
                "return query.to(cost.dtype)", "return query.float()", "return query.int()", "return query.tolist()",
                "return list(query)"),
        mistake("pairs returned", "scipy's two lists came back, rows and columns. Which of the two, in which order, is "
                "asked for?", "return query, torch.arange(objects).expand(batch, -1)",
                "return torch.stack([query, torch.arange(objects).expand(batch, -1)], -1)",
                "return torch.arange(objects).expand(batch, -1), query",
                "return [(row.sort().values, row.argsort()) for row in query]",
                "return [(torch.arange(objects), row) for row in query]",
                "return [(row, torch.arange(objects)) for row in query]"),
        squeezed("return query{}"),
        NOTHING,
        overwritten(*writing(match_queries, 0), *writing(in_turn, 0), *writing(cheapest_first, 0)),
        mistake("not the least sum", "Every object has a query of its own, but another choice costs less in all. Were "
                "all choices looked at, or was one made early and kept?", "query = by_what_is_lost(used)",
                matches=_dearer),
    ),
    laws=(Law("no query serves two objects", _twice),),
    hints=(
        "With the costs 2, 2.5 for query 0 and 2.2, 9 for query 1, both objects like query 0 best. Which two sums are "
        "possible, and which is smaller?",
        "There are few queries: all ways to give T objects different queries can be listed. Which function of "
        "`itertools` lists them?",
        "`permutations(range(Q), T)` gives them as tuples: entry t is the query of object t. What is the cost of one "
        "of them, as a sum over t?",
        "With scipy: `linear_sum_assignment` takes one table and returns rows and columns, sorted by rows. If the "
        "objects are to be the rows, what must be done with cost[b] first?",
    ),
)
