"""What goes wrong with the projections of multi-head attention."""

import itertools
from typing import Any

import torch
from torch import Tensor

from course_utils.checking.exercise import Function, Misconception
from course_utils.exercises.ch05_multi_head._multi_head import build

# One of three used twice or thrice, and at least one in its own place.
_REPEATED = tuple(
    order
    for order in itertools.product(range(3), repeat=3)
    if len(set(order)) == 1 or (len(set(order)) == 2 and sum(map(int.__eq__, order, range(3))) == 2)
)


def _with_matrices(*order: int) -> Function:
    return build(matrices=lambda *weights: tuple(weights[i] for i in order))


def _transposed(*which: int) -> Function:
    return build(
        matrices=lambda *weights: tuple(w.mT if i in which else w for i, w in enumerate(weights))
    )


def _without(*which: int) -> Function:
    """Leave some projections out, by putting a matrix that changes nothing in their place."""
    return build(
        matrices=lambda *weights: tuple(
            torch.eye(len(w), dtype=w.dtype) if i in which else w for i, w in enumerate(weights)
        )
    )


def _with_roles(*order: int) -> Function:
    return build(roles=lambda *given: tuple(given[i] for i in order))


def _blocks(weight: Tensor, num_heads: int) -> Tensor:
    """Keep the blocks on the diagonal of a matrix."""
    d_k = len(weight) // num_heads
    head = torch.arange(len(weight)) // d_k
    return weight * (head == head.unsqueeze(-1))


def _split_before(*which: int) -> Function:
    """Project the slices of the stream, each with the block of its head alone."""

    def wrong(*args: Any) -> Any:
        given = list(args)
        for i in which:
            given[3 + i] = _blocks(args[3 + i], args[7])
        return build()(*given)

    return wrong


def _reshaped(*which: int) -> Function:
    """Take matrices for H tables (d_model, d_k), or W_o for H tables (d_k, d_model), by force."""

    def wrong(*args: Any) -> Any:
        given, num_heads = list(args), args[7]
        for i in which:
            rows, columns = args[3 + i].shape
            if i == 3:
                parts = args[6].reshape(num_heads, columns, rows // num_heads).mT
                given[6] = parts.reshape(rows, columns)
            else:
                parts = args[3 + i].reshape(num_heads, rows, columns // num_heads)
                given[3 + i] = torch.cat(tuple(parts), 1)
        return build()(*given)

    return wrong


def _same_columns(*args: Any) -> Any:
    """Give every head the columns of the first one."""
    given, d_k = list(args), args[3].shape[-1] // args[7]
    for i in (3, 4, 5):
        given[i] = args[i][:, :d_k].repeat(1, args[7])
    return build()(*given)


def _subsets(count: int) -> list[tuple[int, ...]]:
    sizes = range(1, count + 1)
    return [some for size in sizes for some in itertools.combinations(range(count), size)]


PROJECTIONS = (
    Misconception(
        "a matrix transposed",
        _transposed(0, 1, 2, 3),
        "Some matrices were transposed. They are applied as x @ W here; `nn.Linear` and `F.linear` "
        "keep the transpose. Which of the four are the wrong way round?",
        also=tuple(_transposed(*some) for some in _subsets(4)[:-1]),
    ),
    Misconception(
        "no W_o",
        _without(3),
        "The heads lie side by side, but nothing mixes them: the last step is missing. What does "
        "W_o do?",
    ),
    Misconception(
        "a projection left out",
        _without(0, 1, 2),
        "Some of query, key and value were cut into heads as they came. Each has a matrix of its "
        "own: which one is not used?",
        also=(
            *(_without(*some) for some in _subsets(3)[:-1]),
            *(_without(*some, 3) for some in _subsets(3)),
        ),
    ),
    Misconception(
        "matrices swapped",
        _with_matrices(1, 0, 2, 3),
        "The right streams meet the wrong matrices: two or more of the four changed places. Which "
        "one makes the queries, the keys, the values?",
        also=tuple(
            _with_matrices(*order)
            for order in (
                *((*some, 3) for some in itertools.permutations(range(3))),
                *((3, 1, 2, 0), (0, 3, 2, 1), (0, 1, 3, 2)),
            )
            if order not in ((0, 1, 2, 3), (1, 0, 2, 3))
        ),
    ),
    Misconception(
        "one matrix used twice",
        _with_matrices(0, 0, 0, 3),
        "One matrix serves for two or three projections, and another is never used. What is each "
        "of W_q, W_k and W_v for?",
        also=tuple(_with_matrices(*order, 3) for order in _REPEATED if order != (0, 0, 0)),
    ),
    Misconception(
        "self-attention only",
        _with_roles(0, 0, 0),
        "Keys and values come from the query's stream, and the other two are never read. In "
        "cross-attention they are another sequence.",
    ),
    Misconception(
        "streams swapped or used twice",
        _with_roles(0, 1, 1),
        "The right matrices meet the wrong streams: one of query, key and value was used in the "
        "place of another. Which one is never read, or read in the wrong place?",
        also=tuple(
            _with_roles(*order)
            for order in (*itertools.permutations(range(3)), *_REPEATED)
            if order not in ((0, 1, 2), (0, 0, 0), (0, 1, 1))
        ),
    ),
    Misconception(
        "the same columns for every head",
        _same_columns,
        "All heads use the matrix columns of the first one, so all of them find the same. Which "
        "columns of W_q belong to head h?",
    ),
    Misconception(
        "streams split before the projections",
        _split_before(0, 1, 2),
        "Each head reads only its own slice of the stream. A head owns columns of the matrix, and "
        "those reach all of the stream: which comes first, the product or the cut?",
        also=(
            *(_split_before(*some) for some in _subsets(3)[:-1]),
            _split_before(0, 1, 2, 3),
            build(
                matrices=lambda q, k, v, o: (q, k, torch.eye(len(v), dtype=v.dtype), v @ o),
            ),
        ),
    ),
    Misconception(
        "a matrix reshaped instead of cut",
        _reshaped(0, 1, 2),
        "A matrix was given three axes by force, so the numbers of different heads are mixed. Head "
        "h owns columns of W_q, W_k and W_v and rows of W_o: which axis of each is cut?",
        also=(
            *(_reshaped(*some) for some in _subsets(3)[:-1]),
            _reshaped(3),
            _reshaped(0, 1, 2, 3),
        ),
    ),
    Misconception(
        "W_o for each head's own channels",
        _split_before(3),
        "Each head was mixed within its own channels only. W_o mixes all heads into all channels: "
        "when must the heads come together?",
    ),
)
