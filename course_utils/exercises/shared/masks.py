"""Mistakes where a mask is made, True where a query may see a key.

The lines speak of the steps

    rows = torch.arange(num_queries).unsqueeze(-1)
    i = rows + offset
    j = torch.arange(num_keys)
    past = j <= i
    mask = past
    return mask

where `i` says at which place among the keys each query stands, as a column, and `j` at which each
key does, as a row; `mask` is the result, `past` alone or joined with something else. `KINDS`,
`AXES` and `left_out` speak of `mask` and the return alone, `EMPTY` of `j` too, `PAST` of `i` and
`j`; `OFFSET` of `rows`, `num_queries`, `num_keys` and `offset`, `SIZES` of the two sizes. A mask
without an offset sets `i = torch.arange(num_positions).unsqueeze(-1)`.

Where conditions are joined by the wrong operator, the mistake is called "both conditions required"
or "one condition enough".
"""

from collections.abc import Callable
from typing import Any

from torch import Tensor

from course_utils.checking.exercise import Law
from course_utils.checking.mistakes import Mistake, mistake
from course_utils.exercises.shared.kinds import NOTHING

_DTYPES = ("float32", "float64", "float16", "int32", "int64", "uint8")
_CAST = (f"return {mask}.to(torch.{dtype})" for mask in ("mask", "(~mask)") for dtype in _DTYPES)

KINDS = (
    mistake("numbers instead of booleans", "The mask holds numbers. Added to scores, 1 and 0 hide nothing, and `~` and "
            "`&` mean something else on them or fail. Which dtype can only say yes or no?", *_CAST),
    mistake("numbers to add instead of booleans", "These are numbers to be added to scores. The exercise asks for the "
            "mask itself: True where a query may attend. From that, such numbers can be made for any dtype; what does "
            "`&` do with -inf?", "return torch.zeros(mask.shape).masked_fill(~mask, -torch.inf)",
            "return torch.zeros(mask.shape).masked_fill(~mask, -1e9)",
            "return torch.zeros(mask.shape).masked_fill(~mask, -1e4)",
            "return torch.zeros(mask.shape).masked_fill(~mask, torch.finfo(torch.float32).min)",
            "return torch.zeros(mask.shape).double().masked_fill(~mask, -torch.inf)",
            "return torch.zeros(mask.shape).masked_fill(mask, -torch.inf)",
            "return torch.zeros(mask.shape).masked_fill(mask, -1e9)"),
    mistake("inverted", "True and False are exchanged: True marks what is hidden. Some libraries mean it so; here, as "
            "in torch's SDPA, what does True allow?", "return ~mask"),
    NOTHING,
    mistake("a list", "A list came back, not a tensor. What makes a tensor of rows of booleans?",
            "return mask.tolist()", "return list(mask)"),
)

AXES = mistake("axes added or missing", "The values are right, but there are other axes than one for the queries and "
               "one for the keys. Broadcasting adds axes for batch and heads when they are needed. Which axes does "
               "this mask really depend on?", "return mask[None, None]", "return mask[None]", "return mask.flatten()")

PAST = (
    mistake("own key hidden", "A query does not see its own key: the edge is one too far to the left, and the first "
            "query of all sees nothing. Is a token its own future?", "past = j < i", "past = j < i - 1"),
    mistake("one key of the future seen", "Every query sees one key too many, and that one is the token to be "
            "predicted. A language model trained so has nothing left to learn. Which diagonal is the last one allowed?",
            "past = j <= i + 1", "past = j <= i + 2"),
    mistake("the future instead of the past", "Each query sees the future, and nothing of the past. On which side of "
            "the diagonal does a row's past stand?",
            "past = j >= i", "past = j > i", "past = j > i + 1", "past = j >= i - 1"),
    mistake("not causal", "Keys of the future are seen as well. What is compared with what, to find the future?",
            "past = torch.ones(len(i), len(j), dtype=torch.bool)"),
    mistake("only its own key", "Each query sees one key alone of its past, its own. What about those before it?",
            "past = j == i"),
)

OFFSET = (
    mistake("offset ignored", "With an offset the mask stays what it was. After 100 keys have been kept from earlier "
            "steps, at which place among the keys does query 0 stand?", "i = rows"),
    mistake("offset with the wrong sign", "A larger offset moves the edge to earlier keys, not to later ones. Which "
            "way does it move when more keys come before the first query?", "i = rows - offset"),
    mistake("alignment guessed from the sizes", "The last query was put at the last key, without being asked. That is "
            "one convention of two; here the offset says it, and 0 means that query 0 stands at key 0. What does the "
            "number of keys have to do with it?", "i = rows + num_keys - num_queries",
            "i = rows + offset + num_keys - num_queries", "i = rows + offset + max(num_keys - num_queries, 0)",
            "i = rows + (offset or num_keys - num_queries)", "i = rows - offset + num_keys - num_queries"),
    mistake("negative offsets forgotten", "It is right while the offset is 0 or more. A negative one is legal too: the "
            "first queries stand before all keys and see none. What does yours make of it?",
            "i = rows + max(offset, 0)", "i = rows + abs(offset)"),
)

EMPTY = mistake("empty rows filled", "A query that may see nothing was given some keys, so that its row is not empty. "
                "An empty row is a legal mask: the softmax has to cope with it, not the mask. What may that query see?",
                "return mask | ~mask.any(-1, keepdim=True)", "return mask | (j == 0)")

SIZES = (
    mistake("queries and keys exchanged", "The table has a row for each key and a column for each query, or is read "
            "so. Which size comes first in (L, S)?",
            "return mask.mT", "rows = torch.arange(num_keys).unsqueeze(-1)\nj = torch.arange(num_queries)"),
    mistake("one size for both axes", "The mask is square though there are more keys than queries, or fewer. Which of "
            "the two sizes is used twice?",
            "j = torch.arange(num_queries)", "rows = torch.arange(num_keys).unsqueeze(-1)"),
)


def left_out(*places: str) -> Mistake:
    """Return the mistake of a loop that never fills these places; by default a row or a column."""
    places = places or ("..., 0, :", "..., -1, :", "..., 0", "..., -1")
    return mistake("a loop that leaves one out", "One row or column of the mask was never filled, all else is right. "
                   "Which numbers does your `range` give?",
                   *(f"mask[{place}] = False\nreturn mask" for place in places))


def rows_tell(law: str, right: Callable[..., Tensor]) -> tuple[Law]:
    """Return the law that shows, for the first wrong query, which keys it sees."""

    def broken(args: tuple[Any, ...], got: Tensor) -> str | None:
        wrong = (got != right(*args)).any(-1).nonzero()
        if not len(wrong):
            return None
        where = tuple(int(index) for index in wrong[0])
        keys = got[where].nonzero().flatten().tolist()
        listed = ", ".join(map(str, keys[:12])) + ", ..." * (len(keys) > 12)
        seen = f"key{'s' * (len(keys) > 1)} {listed}" if keys else "no key"
        row = f"Query {where[-1]}" if len(where) == 1 else f"The row at index {list(where)}"
        return f"{row} sees {seen}."

    return (Law(law, broken),)
