"""What goes wrong in a tile of the flash kernel: which keys a query may see."""

from typing import Any

from course_utils.attention.triton_interpreter import tl
from course_utils.checking.exercise import Function, Misconception
from course_utils.exercises.ch09_flash._kernel_tile import INF, LOG2_E, build, hide


def _keep_all(scores: Any, columns: Any, limit: Any) -> Any:
    return scores


def _where(condition: Function, otherwise: float = -INF) -> Function:
    """Hide where the condition on columns and limit does not hold."""
    return lambda scores, columns, limit: tl.where(condition(columns, limit), scores, otherwise)


def _below(columns: Any, limit: Any) -> Any:
    return columns[None, :] < limit[:, None]


def _own_columns(columns: Any) -> Any:
    return tl.arange(0, columns.shape[0])


def _zeroed(weights: Any, columns: Any, limit: Any) -> Any:
    return tl.where(_below(columns, limit), weights, 0.0)


def _whole_tiles(columns: Any, limit: Any) -> Any:
    """Leave a tile out as soon as it reaches over the end of the row."""
    last = tl.max(columns, 0)
    return (last < limit)[:, None] & (columns >= 0)[None, :]


def _hidden_before_v(m: Any, l: Any, acc: Any, q: Any, k: Any, v: Any, *rest: Any) -> Any:
    """Set the keys and values beyond the end to zero, and leave the scores alone."""
    columns, limit, _scale = rest
    if limit is not None:
        end = tl.max(limit, 0)
        v = tl.where((columns < end)[:, None], v, 0.0).to(v.dtype)
    return build(hide=_keep_all)(m, l, acc, q, k, v, *rest)


def _limited_in_acc(*given: Any) -> Any:
    """Count all keys in the sum, and only the visible ones in the output."""
    _, _, acc = build(hide=_keep_all, after=_zeroed)(*given)
    m, l, _ = build(hide=_keep_all)(*given)
    return m, l, acc


def _limited_in_l(*given: Any) -> Any:
    """Count all keys in the output, and only the visible ones in the sum."""
    _, l, _ = build(hide=_keep_all, after=_zeroed)(*given)
    m, _, acc = build(hide=_keep_all)(*given)
    return m, l, acc


def _limit_expected(*given: Any) -> Any:
    """Hide what lies beyond the limit without asking whether there is one."""
    columns, limit = given[6:8]
    return build(
        factor=lambda scores, scale: hide(scores * scale, columns, limit),
        hide=_keep_all,
    )(*given)


MASKS = (
    Misconception(
        "always a limit expected",
        _limit_expected,
        "For a tile that all its queries see whole, `limit` is None, and the function takes it for "
        "a tile of numbers. The fast half of the kernel's loop has no comparison at all.",
    ),
    Misconception(
        "limit ignored",
        build(hide=_keep_all),
        "Every key of the tile counts, also those from `limit` on: the future, or the zeros that "
        "fill the tile up behind the last key. A score of 0 is no weight of 0.",
        also=(_hidden_before_v,),
    ),
    Misconception(
        "one key too many",
        build(hide=_where(lambda columns, limit: columns[None, :] <= limit[:, None])),
        "Each row sees one key beyond its limit. limit is the number of keys that it sees: at "
        "which position does the last of them stand?",
    ),
    Misconception(
        "one key too few",
        build(hide=_where(lambda columns, limit: columns[None, :] + 1 < limit[:, None])),
        "Each row misses the last key that it may see; under a causal mask that is its own.",
        also=(build(hide=_where(lambda columns, limit: columns[None, :] < limit[:, None] - 1)),),
    ),
    Misconception(
        "the visible keys hidden",
        build(hide=_where(lambda columns, limit: columns[None, :] >= limit[:, None])),
        "What may be seen is hidden, and the rest is kept. `tl.where(condition, a, b)` gives a "
        "where the condition holds.",
        also=(build(hide=_where(lambda columns, limit: columns[None, :] > limit[:, None])),),
    ),
    Misconception(
        "the tail hidden, the future not",
        build(hide=_where(lambda columns, limit: (columns < tl.max(limit, 0))[None, :])),
        "One limit is used for all rows of the tile, so under a causal mask the earlier rows see "
        "what is future to them. `limit` has a number for each row.",
        also=(build(hide=_where(lambda columns, limit: (columns < tl.min(limit, 0))[None, :])),),
    ),
    Misconception(
        "positions counted from the tile's start",
        build(hide=_where(lambda columns, limit: _own_columns(columns)[None, :] < limit[:, None])),
        "The keys of each tile are counted from 0, and limit counts from the first key of all. "
        "What does `columns` hold?",
    ),
    Misconception(
        "queries and keys swapped in the limit",
        build(hide=_where(lambda columns, limit: columns[:, None] < limit[None, :])),
        "The condition lies across: positions of keys go down the rows, limits of queries along "
        "them. Scores are (queries, keys).",
    ),
    Misconception(
        "the ragged tail dropped",
        build(hide=_where(_whole_tiles)),
        "A tile that reaches over a row's limit is left out as a whole, and the keys before the "
        "limit with it. Some of its keys count still.",
    ),
    Misconception(
        "hidden scores set to 0",
        build(hide=_where(_below, 0.0)),
        "Hidden keys get the score 0, which is a score like any other. What score has the power 0?",
        also=(
            build(hide=lambda scores, columns, limit: scores * _below(columns, limit)),
            build(hide=_where(_below, -1.0)),
            build(hide=_where(_below, -10.0)),
        ),
    ),
    Misconception(
        "hidden scores not low enough",
        build(hide=_where(_below, -1e4)),
        "Hidden keys get a low score, but a visible one may be lower still, and then they count. "
        "Which number is below all others?",
        also=(
            build(hide=_where(_below, -1e3)),
            build(hide=_where(_below, -1e4 * LOG2_E / 4)),  # -10,000 before the scale, at width 16
        ),
    ),
    Misconception(
        "hidden keys still set the maximum",
        build(hide=_keep_all, after=_zeroed),
        "Hidden keys get no weight, but the maximum was taken over them too. If the best of all "
        "keys is hidden, the powers of the visible ones vanish. When must the limit act?",
    ),
    Misconception(
        "the limit on one sum of the two",
        _limited_in_acc,
        "Hidden keys are kept out of one of the two sums, l or acc, and counted in the other. The "
        "output is acc / l: both must run over the same keys.",
        also=(_limited_in_l,),
    ),
)
