"""What goes wrong in the tiled backward pass: what a causal tile hides."""

from typing import Any

from torch import Tensor

from course_utils.checking.exercise import Function, Misconception
from course_utils.exercises.ch09_flash import _tile_causal_mistakes as forward
from course_utils.exercises.ch09_flash._walking import Place, ahead
from course_utils.exercises.ch09_flash._walking_back import build


def _seen(rule: Function, skip: Function = lambda at: False) -> Function:
    return build(hidden=rule, skip=skip)


def _masked_late(weights: Tensor, hidden: Tensor) -> Tensor:
    return weights


def _turned(*args: Any) -> Any:
    flag = len(args) > 8 and args[8]
    return build()(*args[:8], not flag)


def _hides_scores_only(weights: Tensor, hidden: Tensor) -> Tensor:
    """Give hidden scores the value 0 in place of a weight of 0."""
    return weights.masked_fill(hidden, 1.0)


def _below(i: Tensor, j: Tensor, at: Place) -> Tensor:
    return j < i


CAUSAL = (
    Misconception(
        "causal ignored",
        build(causal=lambda flag: False),
        "The flag `is_causal` changes nothing: keys of the future get a gradient. What had weight "
        "0 on the way there?",
    ),
    Misconception(
        "causal always",
        build(causal=lambda flag: True),
        "The future is hidden although nobody asked for it. What is the default of `is_causal`?",
        also=(_turned,),
    ),
    Misconception(
        "causal by whole tiles",
        _seen(forward.nothing, ahead),
        "Tiles wholly in the future are left out, but inside the tile on the diagonal every query "
        "sees every key. Which of its weights lie in the future?",
        also=(
            build(hide=_masked_late),
            _seen(forward.nothing, forward.above_diagonal_tiles),
            build(skip=lambda at: at.k0 > at.q1, hide=_masked_late),
        ),
    ),
    Misconception(
        "causal off by a tile",
        build(skip=forward.after_first_query),
        "A tile that part of a block of queries saw was left out. Which query of the block decides "
        "whether a tile is needed: the first or the last?",
        also=(
            build(skip=forward.from_query_block),
            build(skip=forward.above_diagonal_tiles),
            build(skip=lambda at: at.k0 > 0 and at.k0 + at.block_k > at.q1),
            build(skip=lambda at: at.k0 > 0 and at.k0 >= at.q0),
            build(skip=lambda at: at.k0 > 0 and at.k0 >= at.q1 - 1),
            build(skip=lambda at: at.k0 >= at.q1 - 1),
            build(skip=lambda at: at.k1 > at.q1),
        ),
    ),
    Misconception(
        "places counted inside the tile",
        _seen(forward.local),
        "Each tile hides above its own diagonal, as if it stood at the start. Where does a tile's "
        "first query stand in the sequence, and where its first key?",
        also=(
            build(hidden=forward.local),
            _seen(forward.diagonal_only, forward.above_diagonal_tiles),
            _seen(forward.diagonal_only, ahead),
        ),
    ),
    Misconception(
        "causal aligned bottom-right",
        _seen(forward.bottom_right),
        "Where L and S differ, the last query was let see the last key. The forward pass that made "
        "out and lse let query 0 see key 0 alone: the diagonal begins at the top left.",
        also=(build(hidden=forward.bottom_right),),
    ),
    Misconception(
        "causal off by one",
        _seen(forward.strict),
        "The diagonal lies one place off: a query does not see its own key, or sees the next one.",
        also=(
            _seen(forward.lenient),
            _seen(lambda i, j, at: j >= i),
            build(hidden=forward.lenient),
            build(hidden=lambda i, j, at: j >= i),
        ),
    ),
    Misconception(
        "causal the wrong way",
        _seen(_below),
        "The past is hidden and the future seen. Is a key hidden where its place is larger than "
        "the query's, or smaller?",
        also=(_seen(lambda i, j, at: j <= i),),
    ),
    Misconception(
        "hidden weights not 0",
        build(hide=_hides_scores_only),
        "What lies in the future got a weight that is not 0. Which score has the weight 0, and "
        "what would `masked_fill` put in the weights themselves?",
    ),
    Misconception(
        "hidden scores not low enough",
        build(faint=-100.0),
        "What lies in the future got a low score, but scores may be lower still, and then its "
        "weight is large. Which number is below every score?",
    ),
)
