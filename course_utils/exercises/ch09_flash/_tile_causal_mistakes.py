"""What goes wrong in tiled attention: what a causal tile hides, and which are left out."""

from typing import Any

from torch import Tensor

from course_utils.checking.exercise import Function, Misconception
from course_utils.exercises.ch09_flash._online import build as online
from course_utils.exercises.ch09_flash._walking import Place, ahead, build, future

# Steps that take the maximum as it is: NaN for a query that has seen nothing yet.
_UNGUARDED = online(
    fade_l=lambda old, new, scores: (old - new).exp(),
    fade_acc=lambda old, new, scores: (old - new).exp(),
    weigh=lambda old, new, scores: (scores - new.unsqueeze(-1)).exp(),
)


def _seen(rule: Function, skip: Function = lambda at: False) -> Function:
    """Return attention in which a causal tile hides what the rule says."""
    return build(hidden=rule, skip=skip)


def local(i: Tensor, j: Tensor, at: Place) -> Tensor:
    return j - at.k0 > i - at.q0


def bottom_right(i: Tensor, j: Tensor, at: Place) -> Tensor:
    return j > i + at.num_keys - at.num_queries


def strict(i: Tensor, j: Tensor, at: Place) -> Tensor:
    return (j >= i) & (j > 0)


def lenient(i: Tensor, j: Tensor, at: Place) -> Tensor:
    return j > i + 1


def nothing(i: Tensor, j: Tensor, at: Place) -> Tensor:
    return (j > i) & False


def diagonal_only(i: Tensor, j: Tensor, at: Place) -> Tensor:
    """Hide inside tiles whose numbers are equal."""
    same = at.q0 // at.block_q == at.k0 // at.block_k
    return (j - at.k0 > i - at.q0) & same


def above_diagonal_tiles(at: Place) -> bool:
    return at.k0 // at.block_k > at.q0 // at.block_q


def after_first_query(at: Place) -> bool:
    return at.k0 > at.q0


def from_query_block(at: Place) -> bool:
    return at.k1 > at.q1 and at.k0 > 0


def _weights_zeroed_late(scores: Tensor, hidden: Tensor) -> Tensor:
    return scores.masked_fill(hidden, 0.0)


def _turned(q: Tensor, k: Tensor, v: Tensor, bq: int, bk: int, is_causal: bool = False) -> Any:
    return build()(q, k, v, bq, bk, not is_causal)


CAUSAL = (
    Misconception(
        "causal ignored",
        build(causal=lambda flag: False),
        "The flag `is_causal` changes nothing: the future is seen. What must a tile on the "
        "diagonal hide, and which tiles does a block of queries not meet at all?",
    ),
    Misconception(
        "causal always",
        build(causal=lambda flag: True),
        "The future is hidden although nobody asked for it. What is the default of `is_causal`?",
        also=(_turned,),
    ),
    Misconception(
        "causal by whole tiles",
        _seen(nothing, ahead),
        "Tiles wholly in the future are left out, but inside the tile on the diagonal every query "
        "sees every key. Which of its scores lie in the future?",
        also=(
            _seen(nothing, above_diagonal_tiles),
            _seen(lambda i, j, at: (j > i) & (at.q0 == at.k0), ahead),
        ),
    ),
    Misconception(
        "causal off by a tile",
        build(skip=after_first_query),
        "A tile that part of a block of queries can see was left out, or hidden as a whole. Which "
        "query of the block decides whether a tile is needed: the first or the last?",
        also=(
            build(skip=from_query_block),
            build(skip=above_diagonal_tiles),
            build(skip=lambda at: at.k0 > 0 and at.k0 + at.block_k > at.q1),
            build(skip=lambda at: at.k0 > 0 and at.k0 >= at.q0),
            build(skip=lambda at: at.k0 > 0 and at.k0 >= at.q1 - 1),
            build(skip=lambda at: at.k0 // at.block_k >= at.q0 // at.block_q and at.k0 > 0),
        ),
    ),
    Misconception(
        "places counted inside the tile",
        _seen(local),
        "Each tile hides above its own diagonal, as if it stood at the start. Where does a tile's "
        "first query stand in the sequence, and where its first key?",
        also=(
            build(hidden=local),
            _seen(diagonal_only, above_diagonal_tiles),
            _seen(diagonal_only, ahead),
            _seen(lambda i, j, at: j > i - at.q0, lambda at: at.k0 > at.q1),
            _seen(lambda i, j, at: j - at.k0 > i),
        ),
    ),
    Misconception(
        "causal aligned bottom-right",
        _seen(bottom_right),
        "Where L and S differ, the last query was let see the last key. Here, as in torch's own "
        "attention, query 0 sees key 0 alone: the diagonal begins at the top left.",
        also=(
            build(hidden=bottom_right),
            _seen(lambda i, j, at: j > i + max(0, at.num_keys - at.num_queries)),
            _seen(lambda i, j, at: j > i + at.num_queries - at.num_keys),
        ),
    ),
    Misconception(
        "causal off by one",
        _seen(strict),
        "The diagonal lies one place off: a query does not see its own key, or sees the next one.",
        also=(
            _seen(lenient),
            _seen(lambda i, j, at: j >= i),
            build(hidden=lambda i, j, at: (j >= i) & (j > 0)),
            build(hidden=lenient),
            build(hidden=lenient, skip=lambda at: at.k0 > at.q1),
            build(hidden=lambda i, j, at: j >= i, step=_UNGUARDED),
        ),
    ),
    Misconception(
        "causal the wrong way",
        _seen(lambda i, j, at: j < i),
        "The past is hidden and the future seen. Is a key hidden where its place is larger than "
        "the query's, or smaller?",
        also=(
            _seen(lambda i, j, at: j <= i),
            _seen(lambda i, j, at: ~future(i, j, at) & (i != j), lambda at: False),
        ),
    ),
    Misconception(
        "hidden scores set to 0",
        build(hide=_weights_zeroed_late),
        "What lies in the future got the score 0, or its weight was removed after it had been "
        "counted. A score of 0 has the exponential 1: which score has none?",
        also=(build(hide=_weights_zeroed_late, skip=lambda at: False),),
    ),
    Misconception(
        "hidden scores not low enough",
        build(hide=lambda scores, hidden: scores.masked_fill(hidden, -100.0)),
        "What lies in the future got a low score, but scores may be lower still, and then the "
        "future takes all the weight. Which number is below every score?",
        also=(build(hide=lambda scores, hidden: scores.masked_fill(hidden, -1e4)),),
    ),
)
