"""What goes wrong in a window mask with the offset, the sizes and rows without a key."""

from collections.abc import Callable

import torch
from torch import Tensor

from course_utils.attention import causal_mask, window_mask
from course_utils.checking.exercise import Function, Misconception


def _edges(low: Callable[[int], int], high: Callable[[int], int]) -> Function:
    """Return a window whose two edges treat the offset in their own way."""

    def wrong(num_queries: int, num_keys: int, window: int, offset: int = 0) -> Tensor:
        i, j = torch.arange(num_queries).unsqueeze(-1), torch.arange(num_keys)
        return (j <= i + high(offset)) & (j > i + low(offset) - window)

    return wrong


def _sized(change: Callable[[int, int, int, int], tuple[int, int, int, int]]) -> Function:
    return lambda num_queries, num_keys, window, offset=0: window_mask(
        *change(num_queries, num_keys, window, offset)
    )


def _never_empty(num_queries: int, num_keys: int, window: int, offset: int = 0) -> Tensor:
    mask = window_mask(num_queries, num_keys, window, offset)
    return mask | (causal_mask(num_queries, num_keys, offset) & ~mask.any(-1, keepdim=True))


def _counted_from_the_end(num_queries: int, num_keys: int, window: int, offset: int = 0) -> Tensor:
    mask = torch.zeros(num_queries, num_keys, dtype=torch.bool)
    for i in range(num_queries):
        for j in range(i + offset - window + 1, i + offset + 1):
            if -num_keys <= j < num_keys:
                mask[i, j] = True
    return mask


def _clamped(num_queries: int, num_keys: int, window: int, offset: int = 0) -> Tensor:
    own = (torch.arange(num_queries).unsqueeze(-1) + offset).clamp(min=0)
    place = torch.arange(num_keys)
    return (place <= own) & (place > own - window)


def _sliced(num_queries: int, num_keys: int, window: int, offset: int = 0) -> Tensor:
    mask = torch.zeros(num_queries, num_keys, dtype=torch.bool)
    for i in range(num_queries):
        mask[i, max(0, i + offset - window + 1) : i + offset + 1] = True
    return mask


def _sliced_at_both_ends(L: int, S: int, window: int, offset: int = 0) -> Tensor:
    mask = torch.zeros(L, S, dtype=torch.bool)
    for i in range(L):
        mask[i, i + offset - window + 1 : i + offset + 1] = True
    return mask


def _by_query_number(num_queries: int, num_keys: int, window: int, offset: int = 0) -> Tensor:
    causal = causal_mask(num_queries, num_keys, offset)
    return causal & causal_mask(num_queries, num_keys).triu(1 - window)


PLACES = (
    Misconception(
        "offset ignored",
        _sized(lambda L, S, w, o: (L, S, w, 0)),
        "With an offset the mask stays what it was. At which place among the keys does query 0 "
        "stand?",
    ),
    Misconception(
        "offset in one edge only",
        _edges(lambda o: 0, lambda o: o),
        "With an offset one edge of the window moves and the other stays, so it grows or vanishes. "
        "Both edges are counted from the query's own place: which is that?",
        also=(
            _edges(lambda o: o, lambda o: 0),
            _edges(lambda o: -o, lambda o: o),
            _edges(lambda o: o, lambda o: -o),
            _by_query_number,
        ),
    ),
    Misconception(
        "offset with the wrong sign",
        _sized(lambda L, S, w, o: (L, S, w, -o)),
        "A larger offset moves the window to earlier keys. Which way does it move when more keys "
        "come before the first query?",
    ),
    Misconception(
        "alignment guessed from the sizes",
        _sized(lambda L, S, w, o: (L, S, w, S - L)),
        "The last query was put at the last key, without being asked. Here the offset says where "
        "the first query stands. What does the number of keys have to do with it?",
        also=(
            _sized(lambda L, S, w, o: (L, S, w, o + S - L)),
            _sized(lambda L, S, w, o: (L, S, w, o or S - L)),
        ),
    ),
    Misconception(
        "negative offsets forgotten",
        _sized(lambda L, S, w, o: (L, S, w, max(o, 0))),
        "It is right while the offset is 0 or more. With a negative one the first queries stand "
        "before all keys and see none. What does yours make of it?",
        also=(_sized(lambda L, S, w, o: (L, S, w, abs(o))), _clamped),
    ),
    Misconception(
        "window and offset exchanged",
        lambda num_queries, num_keys, offset, window=1: (
            causal_mask(num_queries, num_keys, offset)
            & ~causal_mask(num_queries, num_keys, offset - window)
        ),
        "What was given as the window moved the diagonal, as an offset does. In which order do the "
        "arguments come?",
    ),
    Misconception(
        "negative index counted from the end",
        _counted_from_the_end,
        "An index or the end of a slice became negative, and Python counts such a place from the "
        "end of the row: a query sees keys that it should not. Where does the table begin?",
        also=(_sliced, _sliced_at_both_ends),
    ),
    Misconception(
        "empty rows filled",
        _never_empty,
        "A query whose window holds no key was given some. An empty row is a legal mask: the "
        "softmax has to bear it. What lies in that window?",
        also=(
            lambda L, S, w, o=0: window_mask(L, S, w, o) | ~window_mask(L, S, w, o).any(-1, True),
            lambda L, S, w, o=0: window_mask(L, S, w, o) | (torch.arange(S) == 0),
        ),
    ),
    Misconception(
        "queries and keys exchanged",
        _sized(lambda L, S, w, o: (S, L, w, o)),
        "The table has a row for each key and a column for each query. Which size comes first in "
        "(L, S)?",
        also=(lambda L, S, w, o=0: window_mask(L, S, w, o).mT,),
    ),
    Misconception(
        "one size for both axes",
        _sized(lambda L, S, w, o: (L, L, w, o)),
        "The mask is square though there are more keys than queries, or fewer. Which of the two "
        "sizes is used twice?",
        also=(_sized(lambda L, S, w, o: (S, S, w, o)),),
    ),
)
