"""What goes wrong in a causal mask."""

from collections.abc import Callable

import torch
from torch import Tensor

from course_utils.attention import causal_mask
from course_utils.checking.exercise import Function, Misconception
from course_utils.exercises.ch06_masks._mask_kinds import wrong_axes, wrong_kinds

Rule = Callable[[Tensor, Tensor, int], Tensor]


def _by(rule: Rule) -> Function:
    """Return a mask made by another rule for query i, key j and the offset."""

    def wrong(num_queries: int, num_keys: int, offset: int = 0) -> Tensor:
        i, j = torch.arange(num_queries).unsqueeze(-1), torch.arange(num_keys)
        return rule(i, j, offset) & torch.ones(num_queries, num_keys, dtype=torch.bool)

    return wrong


def _sized(change: Callable[[int, int, int], tuple[int, int, int]]) -> Function:
    """Return the causal mask of other sizes or another offset."""
    return lambda num_queries, num_keys, offset=0: causal_mask(
        *change(num_queries, num_keys, offset)
    )


def _sliced(num_queries: int, num_keys: int, offset: int = 0) -> Tensor:
    """Cut the rows out of a longer causal mask: nothing to cut where the offset is negative."""
    return torch.ones(num_queries + max(offset, 0), num_keys).tril().bool()[offset:]


def _counted_from_the_end(num_queries: int, num_keys: int, offset: int = 0) -> Tensor:
    """Write row by row up to an end that may be negative."""
    mask = torch.zeros(num_queries, num_keys, dtype=torch.bool)
    for i in range(num_queries):
        mask[i, : i + offset + 1] = True
    return mask


def _never_empty(num_queries: int, num_keys: int, offset: int = 0) -> Tensor:
    mask = causal_mask(num_queries, num_keys, offset)
    return mask | ~mask.any(-1, keepdim=True)


def _square(num_queries: int, num_keys: int, offset: int = 0) -> Tensor:
    """Make the mask for as many keys as queries, and hide or show the others."""
    mask = torch.zeros(num_queries, num_keys, dtype=torch.bool)
    side = min(num_queries, num_keys)
    mask[:side, :side] = causal_mask(side, side, offset)
    return mask


MISCONCEPTIONS = (
    *wrong_kinds(causal_mask),
    Misconception(
        "own key hidden",
        _by(lambda i, j, o: j < i + o),
        "Query i does not see the key at i + offset, its own: the edge is one too far to the left, "
        "and the first query of all sees nothing. Is a token its own future?",
        also=(_by(lambda i, j, o: j < i + o - 1), _by(lambda i, j, o: j <= i + o - 2)),
    ),
    Misconception(
        "one key of the future seen",
        _by(lambda i, j, o: j <= i + o + 1),
        "Every query sees one key too many, and that one is the token to be predicted. A language "
        "model trained so has nothing left to learn. Which diagonal is the last one allowed?",
        also=(_by(lambda i, j, o: j <= i + o + 2),),
    ),
    Misconception(
        "upper instead of lower",
        _by(lambda i, j, o: j >= i + o),
        "Each query sees its own key and the future, and nothing of the past. On which side of the "
        "diagonal does a row's past stand?",
        also=(
            _by(lambda i, j, o: j >= i - o),
            _by(lambda i, j, o: j >= i),
            _by(lambda i, j, o: j > i),
            _by(lambda i, j, o: j > i + o + 1),
            _by(lambda i, j, o: j >= i + o - 1),
            _by(lambda i, j, o: j > i - o),
        ),
    ),
    Misconception(
        "queries and keys exchanged",
        _sized(lambda L, S, o: (S, L, o)),
        "The table has a row for each key and a column for each query, or is read so. Which size "
        "comes first in (L, S)?",
        also=(lambda L, S, offset=0: causal_mask(L, S, offset).mT,),
    ),
    Misconception(
        "offset ignored",
        _by(lambda i, j, o: j <= i),
        "With an offset the mask stays what it was. After 100 keys have been kept from earlier "
        "steps, at which place among the keys does query 0 stand?",
    ),
    Misconception(
        "offset with the wrong sign",
        _by(lambda i, j, o: j <= i - o),
        "A larger offset hides more keys, not fewer. Which way does the edge move when more keys "
        "come before the first query?",
        also=(_by(lambda i, j, o: j < i - o),),
    ),
    Misconception(
        "alignment guessed from the sizes",
        _sized(lambda L, S, o: (L, S, S - L)),
        "The last query was put at the last key, without being asked. That is one convention of "
        "two; here the offset says it, and 0 means that query 0 stands at key 0. What does the "
        "number of keys have to do with it?",
        also=(
            _sized(lambda L, S, o: (L, S, o + S - L)),
            _sized(lambda L, S, o: (L, S, max(S - L, 0) + o)),
            _sized(lambda L, S, o: (L, S, o or S - L)),
            _sized(lambda L, S, o: (L, S, S - L - o)),
        ),
    ),
    Misconception(
        "negative offsets forgotten",
        _sized(lambda L, S, o: (L, S, max(o, 0))),
        "It is right while the offset is 0 or more. A negative one is legal too: the first queries "
        "stand before all keys and see none. What does yours make of it?",
        also=(_sized(lambda L, S, o: (L, S, abs(o))), _sliced),
    ),
    Misconception(
        "negative index counted from the end",
        _counted_from_the_end,
        "A slice ended at a negative place, and Python counts such a place from the end of the "
        "row: a query before all keys sees nearly all of them. Which end does an empty slice "
        "have?",
    ),
    Misconception(
        "empty rows filled",
        _never_empty,
        "A query before all keys was given all of them, so that its row is not empty. An empty "
        "row is a legal answer: the softmax has to bear it, not the mask. What may it see?",
        also=(
            lambda L, S, offset=0: causal_mask(L, S, offset) | (torch.arange(S) == 0),
            lambda L, S, offset=0: causal_mask(L, S, offset) | torch.eye(L, S).bool(),
        ),
    ),
    Misconception(
        "one size for both axes",
        _sized(lambda L, S, o: (L, L, o)),
        "The mask is square though there are more keys than queries, or fewer. Which of the two "
        "sizes is used twice?",
        also=(_sized(lambda L, S, o: (S, S, o)), _square),
    ),
    Misconception(
        "nothing hidden",
        _by(lambda i, j, o: j >= 0),
        "Every query sees every key. What is compared with what, to find the future?",
    ),
    Misconception(
        "only the own key",
        _by(lambda i, j, o: j == i + o),
        "Each query sees one key alone, its own. What about those before it?",
    ),
    Misconception(
        "offset read as a prefix",
        _by(lambda i, j, o: (j <= i) | (j < o)),
        "The offset opened the first keys to everybody. It moves the edge of every row instead: "
        "up to which key does query i see?",
        also=(_by(lambda i, j, o: (j <= i) | (j <= o)),),
    ),
    Misconception(
        "offset read as a window",
        _by(lambda i, j, o: (j <= i) & (j >= i - o) if o else j <= i),
        "The offset limits how far back a query sees. It says where the first query stands among "
        "the keys: what does it do to the edge of the future?",
        also=(_by(lambda i, j, o: (j <= i) & (j > i - o) if o else j <= i),),
    ),
    wrong_axes(
        causal_mask,
        "The values are right, but there are other axes than (L, S). Broadcasting adds axes for "
        "batch and heads when they are needed. Which axes does this mask really depend on?",
        lambda mask: mask[None, None],
        lambda mask: mask[None],
        torch.flatten,
    ),
)
