"""What goes wrong in how Shaw's two parts meet: each mistake as something to run."""

import torch
from torch import Tensor

from course_utils.checking.exercise import Function
from course_utils.exercises.ch07_positions._shaw_row_mistakes import ROWS
from course_utils.exercises.ch07_positions._shaw_wrong import build, of


def _joined(join: Function) -> Function:
    return build(join=join)


def _with_key(query: Tensor, key: Tensor, vectors: Tensor) -> Tensor:
    return torch.einsum("...sd,lsd->...ls", key, vectors)


def _as_number(number: Function) -> Function:
    return build(relative=lambda q, k, a: number(a).expand(*q.shape[:-2], -1, -1) + 0 * (q @ k.mT))


def _head_mean(query: Tensor, key: Tensor, vectors: Tensor) -> Tensor:
    return torch.einsum("...ld,lsd->...ls", query.mean(1, keepdim=True).expand_as(query), vectors)


MEET = (
    of(
        "the relative part missing",
        "The table makes no difference: these are plain dot products. Where does the query meet "
        "the vectors of the distances?",
        _joined(lambda c, r, s: s * c),
        build(relative=lambda q, k, a: 0 * (q @ k.mT) + 0 * a.sum()),
    ),
    of(
        "the content missing",
        "The keys make no difference. What does a query do with a key, besides its distance?",
        _joined(lambda c, r, s: s * r),
    ),
    of(
        "the vector met by the key",
        "The vector of the distance is multiplied with the key, or added to the query, which is "
        "the same. Shaw adds it to the key, and the query meets the sum.",
        build(relative=_with_key),
    ),
    of(
        "the vector met by query and key",
        "Besides q·k and q·a there is a third product, k·a. Transformer-XL and DeBERTa add such "
        "terms; Shaw does not.",
        build(relative=lambda q, k, a: torch.einsum("...ld,lsd->...ls", q, a) + _with_key(q, k, a)),
    ),
    of(
        "the vector made into a number",
        "The same number is added for all queries at a distance, whatever they ask for. That is "
        "T5's bias; Shaw's vector meets the query.",
        _as_number(lambda a: a.sum(-1)),
        _as_number(lambda a: a.mean(-1)),
        _as_number(lambda a: a[..., 0]),
        _as_number(lambda a: a.norm(dim=-1)),
    ),
    of(
        "the relative part taken away",
        "One of the two parts is subtracted from the other. Which sign have they?",
        _joined(lambda c, r, s: s * (c - r)),
        _joined(lambda c, r, s: s * (r - c)),
    ),
    of(
        "both parts multiplied",
        "q·k and q·a are multiplied with each other. How do they come together?",
        _joined(lambda c, r, s: s * c * r),
        _joined(lambda c, r, s: s * c * (1 + r)),
    ),
    of(
        "the query averaged over the heads",
        "Every head meets the vectors with the same query. The table is shared, queries are not.",
        build(relative=_head_mean),
    ),
    of(
        "a table without its query",
        "The vectors of distances meet something else than the query at its own place.",
        build(relative=lambda q, k, a: torch.einsum("...ld,lsd->...ls", q.flip(-2), a)),
        build(relative=lambda q, k, a: torch.einsum("...ld,lsd->...ls", q.flip(-1), a)),
    ),
)

SCALE = (
    of(
        "only the content scaled",
        "The scale multiplies q·k, and q·a is added unscaled. Shaw scales the sum.",
        _joined(lambda c, r, s: s * c + r),
    ),
    of(
        "only the relative part scaled",
        "q·k is not scaled. What does the scale multiply, if it stands before the whole sum?",
        _joined(lambda c, r, s: c + s * r),
    ),
    of(
        "the relative part scaled twice",
        "q·a is scaled once before it is added and once more with the sum.",
        _joined(lambda c, r, s: s * (c + s * r)),
        _joined(lambda c, r, s: s * (s * c + r)),
    ),
    of(
        "no scale at all",
        "Neither the given scale nor 1/√d_k is used. What multiplies the sum?",
        build(pick=lambda given, own: 1.0),
    ),
    of(
        "no scale where none is given",
        "Right where a scale is given. What should it be where none is?",
        build(factor=lambda q, k: 1.0),
    ),
    of(
        "the given scale ignored",
        "Every `scale` gives the same scores. Where is the argument used?",
        build(pick=lambda given, own: own),
    ),
    of(
        "scale multiplied with the default",
        "With a scale given, 1/√d_k multiplies too. The one replaces the other.",
        build(pick=lambda given, own: own if given is None else given * own),
    ),
    of(
        "scale divides",
        "The given scale divides the scores. What would scale=0.0 mean then?",
        build(pick=lambda given, own: own if given is None else 1 / given if given else 0.0),
    ),
    of(
        "a scale of 0 taken for none",
        "scale=0.0 is treated as if nothing were given. Which test tells 0 from None?",
        build(pick=lambda given, own: given or own),
    ),
    of(
        "another root",
        "Without an argument the scale is 1 over the root of the width d_k.",
        build(factor=lambda q, k: 1 / q.shape[-1]),
        build(factor=lambda q, k: float(q.shape[-1]) ** 0.5),
        build(factor=lambda q, k: (2 * q.shape[-1]) ** -0.5),
        build(factor=lambda q, k: k.shape[-2] ** -0.5),
        build(factor=lambda q, k: (q.shape[1] * q.shape[-1]) ** -0.5),
        build(factor=lambda q, k: (3 * q.shape[-1]) ** -0.5),
    ),
    of(
        "weights instead of scores",
        "The rows sum to 1: a softmax was taken already. The exercise asks for the scores.",
        _joined(lambda c, r, s: torch.softmax(s * (c + r), -1)),
    ),
)

MISCONCEPTIONS = (*MEET, *SCALE, *ROWS)
