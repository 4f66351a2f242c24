"""Exercise: what ALiBi adds to the scores."""

from typing import Any

import torch
from course_utils.checking.exercise import Case, Law, case, exercise
from course_utils.checking.inputs import given
from course_utils.checking.mistakes import mistake
from course_utils.checking.recipe import Function
from course_utils.exercises.shared.kinds import left_in
from course_utils.exercises.shared.positions import made_dtype
from course_utils.exercises.shared.scale import multiple
from course_utils.positions import alibi_bias
from torch import Tensor

RIGHT = """
def alibi_bias(num_heads, num_queries, num_keys):
    slopes = alibi_slopes(num_heads)
    start = num_keys - num_queries
    own = torch.arange(num_queries).unsqueeze(-1) + start
    place = torch.arange(num_keys)
    distance = (own - place).to(torch.get_default_dtype())
    fall = -distance
    bias = slopes[:, None, None] * fall
    return bias
"""

_HIDDEN_HERE = "fall = torch.where(distance <= 0.0, -torch.inf, -distance)"
_WIDE = "torch.arange(float(num_keys)).expand(num_heads, num_queries, num_keys)"

def _future(num_queries: int, num_keys: int) -> Tensor:
    """Return which entries are those of keys after the query: they are not judged."""
    own = torch.arange(num_queries).unsqueeze(-1) + num_keys - num_queries
    return torch.arange(num_keys) > own


def _multiple(args: tuple[Any, ...], got: Tensor) -> bool:
    return multiple(alibi_bias(*args).masked_fill(_future(*args[1:]), 0), got.masked_fill(_future(*args[1:]), 0))


def _other_slopes(args: tuple[Any, ...], got: Tensor) -> bool:
    """Return whether every head has the right distances, times a number of its own."""
    want, found = (x.masked_fill(_future(*args[1:]), 0).flatten(1) for x in (alibi_bias(*args), got))
    factor = (found * want).sum(1, keepdim=True) / want.square().sum(1, keepdim=True)
    return bool(want.any()) and bool((factor > 0).all()) and torch.allclose(found, factor * want, rtol=1e-5)


PLACE = (
    mistake("bias positive", "Far keys gain instead of losing. Which sign makes a distance a penalty?",
            "fall = distance"),
    mistake("queries and keys counted from the same start", "Right only with as many queries as keys. After a cache "
            "the last query is at the last key: where is the first one?",
            "start = 0", "start = 0\nfall = -distance.abs()", "start = 0\nfall = -distance.clamp(min=0)",
            "start = 0\nfall = torch.where(distance <= -1.0, -torch.inf, -distance)"),
    mistake("queries and keys exchanged", "Rows and columns have changed places: a "
            "row belongs to a query, a column to a "
            "key.", "bias = (slopes[:, None, None] * fall).mT",
            "num_queries, num_keys = num_keys, num_queries\nslopes = alibi_slopes(num_heads)"),
    mistake("as many rows as columns", "The table is a square of one of the two lengths. Rows belong to queries, "
            "columns to keys.",
            "start = 0\nown = torch.arange(num_keys).unsqueeze(-1)", "start = 0\nplace = torch.arange(num_queries)"),
    mistake("the query's own key hidden", "A query's own key gets -inf, so the first query sees nothing. Where does "
            "the future begin: on the diagonal, or one to the right of "
            "it?", _HIDDEN_HERE, f"start = 0\n{_HIDDEN_HERE}"),
    mistake("aligned by queries less keys", "The first query is put before the first key. The last query and the last "
            "key share a position: by which difference are the queries moved?", "start = num_queries - num_keys",
            "start = num_queries - num_keys\nfall = -distance.abs()"),
    mistake("the keys from the last to the first",
            "The keys were counted from the end: the first one in the table gets "
            "what belongs to the last. Which column is key 0?", "place = torch.arange(num_keys).flip(0)",
            "bias = (slopes[:, None, None] * fall).flip(-1)"),
    mistake("the query's own key penalised", "The entry of a query's own key should be 0: all distances are too large "
            "or too small by one number. At which position is the last query?",
            "fall = -(distance + 1)", "fall = -(distance - 1)", "start = num_keys - 1", "start = num_keys"),
    mistake("the nearest keys told apart too late", "A query's own key and the one before it are penalised alike. How "
            "far is the key just before a query?", "fall = -(distance - 1).clamp(min=0)",
            "start = num_keys - num_queries - 1\nfall = -distance.clamp(min=0)"),
    mistake("BLOOM's form", "Each row is off by a constant, which the softmax would cancel: "
            "BLOOM adds slope · position of the key. Here the query's own key gets 0.",
            f"bias = slopes[:, None, None] * {_WIDE}", f"bias = slopes[:, None, None] * ({_WIDE} - (num_keys - 1))",
            "bias = slopes[:, None, None] * torch.arange(float(num_keys))"),
    mistake("keys' positions as a penalty", "The penalty grows with a position, not with the distance of the key from "
            "the query.", f"bias = -slopes[:, None, None] * {_WIDE}",
            "bias = -slopes[:, None, None] * torch.arange(float(num_queries))[:, None].expand(-1, num_keys)"),
    mistake("the past hidden instead of the future", "Keys before the query get -inf. Which side of the diagonal is "
            "the past?",
            "fall = torch.where(distance > 0, -torch.inf, -distance)", "fall = torch.full_like(distance, -torch.inf)"),
    mistake("cut off by the diagonal of a square", "With more keys than queries `tril` without an offset removes part "
            "of the past too. On which diagonal are the queries' own keys?",
            "fall = (-distance).tril()", "fall = -distance + torch.full_like(distance, -torch.inf).triu(1)"),
    mistake("the past left alone", "Only keys after the query are penalised; for keys before it the bias is 0.",
            "fall = 0 * distance"),
)

SLOPE = (
    mistake("slopes missing", "All heads have the same bias, the bare distance. What multiplies it?",
            "slopes = torch.ones(num_heads)"),
    mistake("slopes in reverse", "The first head looks furthest; with the largest slope it should look least far.",
            "slopes = alibi_slopes(num_heads).flip(0)"),
    mistake("a geometric series from 1", "The first head's slope is 1: the series begins one step too early.",
            "slopes = torch.exp2(-8 * torch.arange(num_heads) / num_heads)"),
    mistake("the formula of a power of two for every number of heads", "Right for 1, 2, 4, 8, ... heads. For other "
            "numbers the slopes are not one series: which function of `positions` knows them?",
            "slopes = torch.exp2(-8 * torch.arange(1, num_heads + 1) / num_heads)"),
    mistake("all slopes in order of size", "The right slopes in another order: `alibi_slopes` puts those that fill the "
            "gaps last.", "slopes = alibi_slopes(num_heads).sort(descending=True).values",
            "slopes = alibi_slopes(num_heads).sort().values"),
    mistake("halved from head to head, whatever their number", "The slopes are 1/2, 1/4, 1/8, ... for every number of "
            "heads. That is right for 8 only.", "slopes = torch.exp2(-torch.arange(1.0, num_heads + 1))"),
    mistake("all slopes alike", "Every head has the same slope, so all look equally far. Along which axis do the "
            "slopes run?", "slopes = alibi_slopes(num_heads)[:1].expand(num_heads)",
            "slopes = alibi_slopes(num_heads).mean().expand(num_heads)",
            "slopes = torch.full((num_heads,), 1 / num_heads)"),
    mistake("slope used twice", "The slopes are squared, or multiplied in a second time. How many times should a slope "
            "multiply a distance?", "slopes = alibi_slopes(num_heads) ** 2"),
    mistake("divided by the slope", "Heads with small slopes lose most. The slope multiplies the distance.",
            "slopes = 1 / alibi_slopes(num_heads)"),
    mistake("slope added instead of multiplied", "Slope and distance are added. Then all heads fall equally fast.",
            "bias = fall - slopes[:, None, None]", "bias = fall + slopes[:, None, None]"),
)

FALL = (
    mistake("distance squared", "The bias falls faster than a straight line. ALiBi is linear: what was done to the "
            "distance?",
            "fall = -distance.square()"),
    mistake("logarithm of the distance", "The bias flattens out with the distance. What does the L in ALiBi mean?",
            "fall = -torch.log1p(distance.abs())", "fall = -distance.abs().sqrt()"),
    mistake("distance as a share of the length", "The same distance costs less in a longer sequence: it was divided by "
            "the length.", "fall = -distance / num_keys", "fall = -distance / max(num_keys - 1, 1)"),
    mistake("distance clipped", "Beyond some distance the penalty stops growing. ALiBi's line has no end.",
            *(f"fall = -distance.clamp(max={most})" for most in (2, 4, 1, 8, 3))),
    mistake("cut to whole numbers", "The values are whole numbers, so small penalties are lost. Slopes are fractions: "
            "where are they cut, or rounded?", "bias = (slopes[:, None, None] * fall).trunc()",
            "bias = (slopes[:, None, None] * fall).floor()", "bias = (slopes[:, None, None] * fall).round()",
            "bias = (slopes[:, None, None] * fall).long()"),
    mistake("exponential of the bias", "The values are factors for the weights; a bias is added to scores before the "
            "softmax.", "bias = torch.exp(slopes[:, None, None] * fall)"),
    mistake("the heads on another axis", "The heads are not the first axis of the bias. What shape do the scores of "
            "one sequence have?", "bias = (slopes[:, None, None] * fall).permute(1, 2, 0)",
            "bias = (slopes[:, None, None] * fall).transpose(0, 1)", "bias = fall.unsqueeze(-1) * slopes"),
    mistake("heads and queries on one axis", "The rows of all heads stand one below the other, as if they were more "
            "queries. A head is an axis of its own.", "bias = (slopes[:, None, None] * fall).flatten(0, 1)",
            "bias = (slopes[:, None, None] * fall).mT.reshape(num_heads, num_queries, num_keys)"),
    left_in("return bias{}"),
    made_dtype("bias"),
    mistake("multiplied by another number", "Every value is off by one factor. The bias is added to scores that are "
            "scaled already: nothing multiplies or divides it besides the slope.", "fall = -distance / 2",
            "fall = -distance / math.sqrt(2)", "bias = slopes[:, None, None] * fall / math.sqrt(num_heads)",
            "bias = slopes[:, None, None] * fall / num_heads", matches=_multiple),
    mistake("other slopes", "Each head falls in a straight line, but not with its own slope. Which function of "
            "`positions` gives the slopes of any number of heads?",
            "slopes = alibi_slopes(num_heads)[0] / torch.arange(1, num_heads + 1)", matches=_other_slopes),
    mistake("a list", "A list came back, where a tensor is asked for. What makes one of nested lists, or joins equal "
            "parts?", "return list(bias)", "return bias.tolist()"),
)


def _judged(fn: Function, num_heads: int, num_queries: int, num_keys: int) -> Any:
    """Set what is not judged to zero."""
    got = fn(num_heads, num_queries, num_keys)
    if not isinstance(got, Tensor) or got.shape != (num_heads, num_queries, num_keys):
        return got
    return got.masked_fill(_future(num_queries, num_keys), 0)


def _above_zero(args: tuple[Any, ...], bias: Tensor) -> str | None:
    high = bias.masked_fill(_future(*args[1:]), 0).max().item()
    return f"A key of the past gets {high:.4g}." if high > 0 else None


def _own_not_zero(args: tuple[Any, ...], bias: Tensor) -> str | None:
    _, queries, keys = args
    own = bias.diagonal(offset=keys - queries, dim1=-2, dim2=-1)
    if not own.numel() or not bool(own.any()):
        return None
    head, place = (int(i) for i in own.nonzero()[0])
    return f"Head {head} gives query {place + max(queries - keys, 0)} at its own key {own[head, place]:.4g}."


def _case(name: str, *sizes: int) -> Case:
    # Without a future nothing has to be left out, so the function is called as it is.
    return case(name, given(*sizes), run=_judged if bool(_future(*sizes[1:]).any()) else None)


EXERCISE = exercise(
    alibi_bias,
    right=RIGHT,
    asks="Return the bias that ALiBi adds to the scores of each head: -slope times the distance.",
    minutes=8,
    difficulty=2,
    importance=3,
    cases=(
        _case("2 heads, 4 queries, 4 keys", 2, 4, 4),
        _case("8 heads, 3 queries, 3 keys", 8, 3, 3),
        _case("4 heads, one query, 6 keys: a decoder's step", 4, 1, 6),
        _case("4 heads, 3 queries, 7 keys: after a cache of 4", 4, 3, 7),
        _case("2 heads, 6 queries, 3 keys", 2, 6, 3),
        _case("7 heads, 4 queries, 9 keys", 7, 4, 9),
        _case("3 heads, 12 queries, 12 keys", 3, 12, 12),
        _case("one head, one query, one key", 1, 1, 1),
    ),
    mistakes=(*PLACE, *SLOPE, *FALL),
    laws=(Law("a query's own key gets 0", _own_not_zero), Law("no key of the past gains", _above_zero)),
    hints=(
        "One table of distances serves all heads. What is its shape, and what does each head have of its own?",
        "With L queries and S keys, the last query is at position S - 1. Where is query i?",
        "Queries' positions as a column, keys' as a row: their difference is the table.",
        "Slopes of shape (H, 1, 1) times a table (L, S) give (H, L, S). Mind the sign.",
    ),
)
