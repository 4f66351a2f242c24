"""Numbers that land in the wrong place when a fused projection is split."""

import math

import torch
from torch import Tensor

from course_utils.checking.exercise import Misconception
from course_utils.exercises.ch04_queries_keys_values import _split_places as places
from course_utils.exercises.ch04_queries_keys_values._split_steps import (
    build,
    each,
    heads,
    some,
    whole,
)


def _interleaved(qkv: Tensor, H: int, d_k: int) -> Tensor:
    return qkv.reshape(*qkv.shape[:2], H, 3, d_k).permute(3, 0, 2, 1, 4)


def _interleaved_features(qkv: Tensor, H: int, d_k: int) -> Tensor:
    return qkv.reshape(*qkv.shape[:2], H, d_k, 3).permute(4, 0, 2, 1, 3)


def _halves(third: Tensor, num_heads: int) -> Tensor:
    own = heads(third, num_heads)
    return torch.cat([own[..., 0::2], own[..., 1::2]], dim=-1)


def _scaled(part: Tensor) -> Tensor:
    return part / math.sqrt(part.shape[-1])


PLACES = (
    Misconception(
        "the sequences of the batch mixed",
        whole(lambda qkv, H, d_k: qkv.reshape(3, qkv.shape[0], H, qkv.shape[1], d_k)),
        "A result holds numbers of another sequence of the batch. `view` and `reshape` count "
        "through memory and know no axes: which axes may be cut, and in which order do they lie?",
        also=(
            whole(
                lambda qkv, H, d_k: qkv.reshape(3, qkv.shape[0], qkv.shape[1], H, d_k).transpose(
                    2, 3
                )
            ),
        ),
        fits=places.sequences_mixed,
    ),
    Misconception(
        "view without transpose",
        build(split=lambda t, H: t.reshape(t.shape[0], H, t.shape[1], -1)),
        "A head holds numbers of several positions. `view` or `reshape` to (B, H, L, d_k) only "
        "renames places in memory. In which order do a position's numbers lie, and what moves an "
        "axis?",
        also=(
            whole(lambda qkv, H, d_k: qkv.reshape(-1, 3, H, qkv.shape[1], d_k).transpose(0, 1)),
            whole(
                lambda qkv, H, d_k: qkv.reshape(-1, H, qkv.shape[1], 3, d_k).permute(3, 0, 1, 2, 4)
            ),
            build(
                lambda qkv, H: qkv.reshape(qkv.shape[0], H, qkv.shape[1], -1).chunk(3, -1),
                lambda part, H: part,
            ),
            whole(
                lambda qkv, H, d_k: qkv.reshape(-1, 3, qkv.shape[1], H, d_k).permute(1, 0, 3, 2, 4)
            ),
        ),
        fits=places.positions_mixed,
    ),
    Misconception(
        "another order than q|k|v",
        build(after=lambda q, k, v: (k, q, v)),
        "Each result is a whole third, but not its own. In which order do queries, keys and "
        "values lie along the last axis?",
        also=(
            build(after=lambda q, k, v: (q, v, k)),
            build(after=lambda q, k, v: (v, k, q)),
            build(after=lambda q, k, v: (k, v, q)),
            build(after=lambda q, k, v: (v, q, k)),
            build(after=lambda q, k, v: (q, k, k)),
            build(after=lambda q, k, v: (q, q, q)),
        ),
        fits=places.thirds_exchanged,
    ),
    Misconception(
        "interleaved heads in the fused split",
        whole(_interleaved),
        "The layout was read as head by head, each with its own q|k|v, as some models store it. "
        "Here all queries of all heads come first. Which is cut first: thirds or heads?",
        also=(
            build(
                lambda qkv, H: qkv.unflatten(-1, (H, -1)).transpose(1, 2).chunk(3, dim=-1),
                lambda part, H: part,
            ),
        ),
    ),
    Misconception(
        "query, key and value mixed",
        whole(_interleaved_features),
        "A result holds numbers of more than one third. Where along the last axis do the queries "
        "of all heads end, and the keys begin?",
        also=(
            build(cut=lambda qkv, H: tuple(qkv[..., i::3] for i in range(3))),
            build(cut=lambda qkv, H: tuple(qkv.roll(1, -1).chunk(3, -1))),
            build(cut=lambda qkv, H: tuple(qkv.roll(-1, -1).chunk(3, -1))),
        ),
        fits=places.thirds_mixed,
    ),
    Misconception(
        "heads in another order",
        build(split=lambda t, H: heads(t, H).flip(1)),
        "Each head is whole, but stands in another's place. The first head has the first features "
        "of its third: what moved it?",
        also=(build(split=lambda t, H: heads(t, H).roll(1, 1)),),
        fits=places.heads_exchanged,
    ),
    Misconception(
        "features dealt out to the heads in turn",
        build(split=lambda t, H: t.unflatten(-1, (-1, H)).movedim(-1, 1)),
        "A head holds features that lie apart: they were dealt out like cards. A head's features "
        "are neighbours: which of the two new axes comes first?",
        fits=places.heads_mixed,
    ),
    Misconception(
        "the features of a head in another order",
        build(split=lambda t, H: heads(t, H).flip(-1)),
        "Each head has its own numbers, but not in their order. Only cut and move axes: nothing "
        "within a head is rearranged.",
        also=(build(split=_halves),),
        fits=places.features_mixed,
    ),
    Misconception(
        "numbers changed",
        some(_scaled, 0),
        "The results hold numbers that are not in the input. Splitting computes nothing: where "
        "does something scale, add or round?",
        also=(some(_scaled, 0, 1), some(_scaled, 1), each(_scaled)),
        fits=places.numbers_changed,
    ),
)
