"""Mistakes where query, key and value are made, each by a matrix of its own.

The lines speak of `W_q`, `W_k` and `W_v`, the arguments, and of the steps

    query = x @ W_q
    key = context @ W_k
    value = context @ W_v

where `x` and `context` are called as `projections` is told. In multi-head attention these are the
streams `query`, `key` and `value` themselves, so that the steps are `query = query @ W_q` and so on.
"""

import itertools
from collections.abc import Iterable, Mapping

from course_utils.checking.mistakes import Mistake, adding, mistake

_MADE = ("query", "key", "value")
_MATRICES = ("W_q", "W_k", "W_v")
_NORMS = ("F.layer_norm({0}, {0}.shape[-1:])", "F.normalize({0}, dim=-1)", "{0} - {0}.mean(-1, keepdim=True)")


def projections(
    x: str = "x",
    context: str = "context",
    held: str = "context",
    also: Mapping[str, tuple[str, ...]] | None = None,
) -> tuple[Mistake, ...]:
    """Return the mistakes with three projections.

    Args:
        x: The name of what the queries are made of.
        context: The name of what the keys are made of.
        held: The name of what the values are made of.
        also: Further versions of some of the mistakes, by name: for a fourth matrix, for instance.
    """
    sources = (x, context, held)

    def by(line: str, which: Iterable[int] = range(3)) -> str:
        """Write a line for each of some of the three: its name, its source and its matrix."""
        return "\n".join(line.format(_MADE[i], sources[i], _MATRICES[i]) for i in which)

    def with_matrices(order: tuple[int, ...]) -> str:
        return "\n".join(f"{_MADE[i]} = {sources[i]} @ {_MATRICES[j]}" for i, j in enumerate(order) if i != j)

    subsets = [some for n in (1, 2, 3) for some in itertools.combinations(range(3), n)]
    # Those in which one of the three is wrong come first: they are the first to be tried in pairs.
    orders = sorted(itertools.product(range(3), repeat=3), key=lambda order: sum(map(int.__ne__, order, range(3))))
    distinct = tuple(sources.index(one) for one in dict.fromkeys(sources))
    found = (
        mistake("matrices exchanged", "A matrix was used in another's place. Which of them meets which sequence, and "
                "to make what?", *(with_matrices(order) for order in orders[1:] if len(set(order)) == 3)),
        mistake("one matrix for several", "The same matrix was used more than once, and another not at all. Query, key "
                "and value are each made by a matrix of their own: which one makes which?",
                *(with_matrices(order) for order in orders if len(set(order)) < 3)),
        mistake("matrices transposed", "A matrix was transposed before it was used, as for the weight of an "
                "`nn.Linear`. Here its rows already belong to the features of what it meets: does anything need to be "
                "turned?", *(by("{0} = {1} @ {2}.mT", some) for some in subsets)),
        mistake("the matrix on the left", "The matrix mixed the positions: it is on the left of what it projects. "
                "Which axis should it meet, and so on which side must it be?", by("{0} = {2} @ {1}"),
                by("{0} = {2}.mT @ {1}"), by("{0} = ({2}.mT @ {1}).mT"), by("{0} = {1}.mT @ {2}")),
        mistake("entry by entry instead of a matrix product", "`*` multiplies entries in the same place. A projection "
                "mixes all features of a position: which operator does that?", by("{0} = {1} * {2}"),
                by("{0} = {1} * {2}.sum(0)"), by("{0} = {1}.sum(-1, keepdim=True) * {2}.sum(0)")),
        mistake("one made from another", "One projection was projected again to make the next. Query, key and value "
                "are each made from the sequence itself, directly.", "value = key @ W_v", "key = query @ W_k",
                "value = query @ W_v", "key = query @ W_k\nvalue = key @ W_v"),
        mistake("a projection left out", "At least one of query, key and value is the sequence as it came. What does "
                "each of its positions have to meet before it becomes one of the three?",
                *(by("{0} = {1}", some) for some in subsets)),
        mistake(
            "normalised",
            "Lengths or spreads were evened out before the projections or after them. A layer norm belongs elsewhere "
            "in the block; a projection is the product alone.",
            *(
                "\n".join(f"{sources[i]} = {norm.format(sources[i])}\n{by('{0} = {1} @ {2}', (i,))}" for i in some)
                for some in dict.fromkeys((distinct, *((i,) for i in distinct)))
                for norm in _NORMS
            ),
        ),
    )
    return adding(found, also or {})
