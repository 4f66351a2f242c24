"""What goes wrong when streams are cut into heads inside multi-head attention."""

import itertools
from typing import Any

from torch import Tensor

from course_utils.attention import split_heads
from course_utils.checking.exercise import Function, Misconception
from course_utils.exercises.ch03_scaled_dot_product._attention import build as attention
from course_utils.exercises.ch05_multi_head._multi_head import RIGHT_SPLITS, Split, build
from course_utils.exercises.ch05_multi_head._splits import cut_otherwise, permuted, shape


def _uncut(x: Tensor, num_heads: int) -> Tensor:
    return x.reshape(shape(x, num_heads))


def _unmerged(heads: Tensor) -> Tensor:
    return heads.reshape(heads.shape[0], heads.shape[2], -1)


def _forced(*order: int) -> Any:
    """Return a merge that puts the axes in another order, and then forces the shape."""
    return lambda heads: heads.permute(*order).reshape(heads.shape[0], heads.shape[2], -1)


def _interleaved_merge(heads: Tensor) -> Tensor:
    return heads.permute(0, 2, 3, 1).flatten(-2)


_interleaved = permuted(0, 3, 1, 2, cut=cut_otherwise)


def _mixed(wrong: Split) -> list[tuple[Split, Split, Split]]:
    """Return all ways to cut at least one of queries, keys and values wrongly."""
    choices = list(itertools.product((split_heads, wrong), repeat=3))
    return [(a, b, c) for a, b, c in choices if wrong in (a, b, c)]


def _wrong_cuts(wrong: Split, merge: Any) -> tuple[Function, ...]:
    """Return versions that cut some streams wrongly, or all of them and merge as wrongly."""
    cuts = tuple(build(splits=splits) for splits in _mixed(wrong)[::-1])
    return *cuts, build(splits=(wrong, wrong, wrong), merge=merge)


def _one_head(*args: Any) -> Any:
    return build(count=lambda given, weight: 1)(*args)


def _one_head_scaled_as_many(*args: Any) -> Any:
    d_k = args[3].shape[-1] // args[7]
    attend = attention(factor=lambda q, k, v: d_k**-0.5)
    return build(count=lambda given, weight: 1, attend=attend)(*args)


def _sequences_as_positions(*args: Any) -> Any:
    """Read the streams as (L, B, d_model)."""
    streams = (stream.transpose(0, 1) for stream in args[:3])
    out: Tensor = build()(*streams, *args[3:])
    return out.transpose(0, 1)


def _fixed(count: int) -> Function:
    return build(count=lambda given, weight: count if len(weight) % count == 0 else given)


def _of_width(width: int) -> Function:
    return build(
        count=lambda given, weight: len(weight) // width if len(weight) % width == 0 else given
    )


def _cut_by_the_query(like_the_query: Any) -> Function:
    """Cut keys and values into as many positions as there are queries."""

    def wrong(*args: Any) -> Any:
        length = args[0].shape[1]

        def cut(x: Tensor, num_heads: int) -> Tensor:
            heads: Tensor = like_the_query(x, length, num_heads)
            return heads.transpose(1, 2)

        return build(splits=(split_heads, cut, cut))(*args)

    return wrong


CUTS = (
    Misconception(
        "keys cut with the number of queries",
        _cut_by_the_query(lambda x, length, h: x.reshape(len(x), length, h, x.shape[-1] // h)),
        "Keys and values were given the query's number of positions. It works for self-attention "
        "alone: whose shape says how many keys there are?",
        also=(
            _cut_by_the_query(lambda x, length, h: x.reshape(len(x), length, h, -1)),
            _cut_by_the_query(lambda x, length, h: x.reshape(-1, length, h, x.shape[-1] // h)),
        ),
    ),
    Misconception(
        "read as (L, B, d_model)",
        _sequences_as_positions,
        "The first axis was taken for the positions, so the sequences of the batch attend to one "
        "another. Here the batch comes first: (B, L, d_model).",
    ),
    Misconception(
        "cut without a transpose",
        build(splits=(_uncut, _uncut, _uncut)),
        "The heads are shuffled: a stream was given the shape (B, H, L, d_k) directly, so a head "
        "holds whole positions in place of its slice of every position. In which order do position "
        "and head lie in memory?",
        also=_wrong_cuts(_uncut, _unmerged)[1:],
    ),
    Misconception(
        "merged without transposing back",
        build(merge=_unmerged),
        "Inside the heads all is right, but they were laid into the stream in another order than "
        "position, head, feature. What comes before the reshape?",
        also=tuple(
            build(merge=_forced(*order))
            for order in ((2, 0, 1, 3), (1, 0, 2, 3), (0, 3, 2, 1), (0, 1, 3, 2))
        ),
    ),
    Misconception(
        "heads interleaved",
        build(splits=(_interleaved, _interleaved, _interleaved)),
        "The heads are interleaved: head h took every H-th column, or its features were spread out "
        "so. Head h owns neighbours: which of H and d_k runs faster along the width?",
        also=(
            *_wrong_cuts(_interleaved, _interleaved_merge)[1:],
            build(merge=_interleaved_merge),
        ),
    ),
    Misconception(
        "num_heads ignored",
        _one_head,
        "This is one head as wide as the model. Where is the width cut?",
        also=(_one_head_scaled_as_many,),
    ),
    Misconception(
        "another number of heads",
        build(count=lambda num_heads, weight: len(weight) // num_heads),
        "The number of heads is not the one that was given: it was taken for the width of a head, "
        "or written into the code. What does `num_heads` say?",
        also=(
            *(_fixed(number) for number in (2, 3, 4, 6, 8, 12)),
            *(_of_width(width) for width in (2, 3, 8, 16, 32, 64)),
        ),
    ),
    Misconception(
        "queries, keys and values of different heads",
        build(splits=(split_heads, lambda x, n: split_heads(x, n).flip(1), split_heads)),
        "A head's queries meet the keys or values of another head. Do all three have the same "
        "order of heads?",
        also=(
            build(splits=(split_heads, split_heads, lambda x, n: split_heads(x, n).flip(1))),
            build(splits=(lambda x, n: split_heads(x, n)[:, :1], *RIGHT_SPLITS[1:])),
            build(
                splits=(
                    split_heads,
                    lambda x, n: split_heads(x, n)[:, :1],
                    lambda x, n: split_heads(x, n)[:, :1].expand(-1, n, -1, -1),
                )
            ),
        ),
    ),
)
