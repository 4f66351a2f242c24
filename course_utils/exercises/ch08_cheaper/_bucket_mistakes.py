"""What goes wrong when vectors are hashed into buckets."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from course_utils.attention import lsh_buckets
from course_utils.checking.exercise import Function, Misconception


def _build(
    along: Callable[[Tensor, Tensor], Tensor] = lambda x, R: x @ R,
    join: Callable[[Tensor], Tensor] = lambda a: torch.cat((a, -a), -1),
    choose: Callable[[Tensor], Any] = lambda a: a.argmax(-1),
) -> Function:
    """Return a hash with some steps exchanged: the product, what joins both signs, the choice."""
    return lambda x, rotations: choose(join(along(x, rotations)))


def _then(change: Callable[[Tensor], Any]) -> Function:
    return lambda x, rotations: change(lsh_buckets(x, rotations))


def _last_of_equals(a: Tensor) -> Tensor:
    return a.shape[-1] - 1 - a.flip(-1).argmax(-1)


def _bits(a: Tensor) -> Tensor:
    return ((a > 0) * 2 ** torch.arange(a.shape[-1])).sum(-1)


def _steepest(a: Tensor, below: float) -> Tensor:
    best = a.abs().argmax(-1, keepdim=True)
    return (best + a.shape[-1] * (a.gather(-1, best) < below)).squeeze(-1)


MISCONCEPTIONS = (
    Misconception(
        "argmin",
        _build(choose=lambda a: a.argmin(-1)),
        "The bucket is that of the direction that points away most: the smallest number was taken, "
        "or the halves stand as [-xR, xR]. Which index has the nearest one?",
        also=(_build(join=lambda a: torch.cat((-a, a), -1)),),
    ),
    Misconception(
        "no sign half",
        _build(join=lambda a: a),
        "Only the directions themselves were tried, and not their opposites, so half of the "
        "buckets are never used. How many are there for n/2 columns?",
        also=(
            _build(join=lambda a: torch.cat((a, a), -1)),
            _build(join=lambda a: -a),
            _build(join=lambda a: a, choose=lambda a: a.argmin(-1)),
        ),
    ),
    Misconception(
        "signs side by side",
        _build(join=lambda a: torch.stack((a, -a), -1).flatten(-2)),
        "Each direction stands beside its opposite: other numbers than those of [xR, -xR]. Which "
        "way are two halves put one after the other?",
        also=(_build(join=lambda a: torch.stack((-a, a), -1).flatten(-2)),),
    ),
    Misconception(
        "the sign dropped",
        _build(join=lambda a: a.abs()),
        "A vector and its opposite come into one bucket: the sign was dropped. They are as far "
        "apart as can be: what tells them apart?",
        also=(
            _build(join=lambda a: a.square()),
            _build(join=lambda a: torch.cat((a.abs(), -a.abs()), -1)),
        ),
    ),
    Misconception(
        "a bit for each direction",
        _build(join=lambda a: a, choose=_bits),
        "Each direction gives a bit, and the bits a number: another hash, with 2^(n/2) buckets. "
        "Here the nearest direction counts: what is its index?",
        also=(
            _build(choose=_bits),
            _build(join=lambda a: a, choose=lambda a: (a > 0).long().sum(-1)),
            _build(join=lambda a: a, choose=lambda a: (a[..., 0] > 0).long()),
        ),
    ),
    Misconception(
        "rotations transposed",
        _build(along=lambda x, R: x @ R.mT),
        "The rows of `rotations` were taken for directions. They are (d, n/2): a column each. What "
        "does x @ R sum over?",
    ),
    Misconception(
        "chosen along another axis",
        _build(choose=lambda a: a.argmax(-2)),
        "The largest number was looked for among positions, sequences, or all of them at once. "
        "Each vector has its own bucket: which axis holds the directions, counted from the end?",
        also=(
            _build(choose=lambda a: a.argmax(0)),
            _build(choose=lambda a: a.argmax(1)),
            _build(choose=lambda a: a.argmax()),
            _build(join=lambda a: torch.cat((a, -a), -2)),
            _build(join=lambda a: torch.cat((a, -a), 0)),
        ),
    ),
    Misconception(
        "the largest number instead of its index",
        _build(choose=lambda a: a.amax(-1)),
        "These are numbers along the directions. A bucket is the index of the largest.",
        also=(
            _build(choose=lambda a: a.max(-1)),
            _build(choose=lambda a: a),
            _build(choose=lambda a: a.softmax(-1)),
            _build(choose=lambda a: a.argsort(-1)),
        ),
    ),
    Misconception(
        "another index on ties",
        _build(choose=_last_of_equals),
        "Where several directions are equally near, another than the first was taken. A vector of "
        "zeros is equally near to all: which index does it get?",
        also=(
            _build(join=lambda a: a, choose=lambda a: _steepest(a, 0.0)),
            _build(choose=lambda a: a.topk(1, -1).indices.squeeze(-1)),
            _build(join=lambda a: a, choose=lambda a: _steepest(a, 1e-300)),
        ),
    ),
    Misconception(
        "counted from 1",
        _then(lambda bucket: bucket + 1),
        "All buckets are moved by one. The first index is 0.",
        also=(_then(lambda bucket: bucket - 1),),
    ),
    Misconception(
        "folded to fewer buckets",
        lambda x, rotations: lsh_buckets(x, rotations) % rotations.shape[-1],
        "Buckets of the second half were folded onto the first. There are n of them, twice as many "
        "as columns.",
        also=(
            lambda x, rotations: lsh_buckets(x, rotations) // 2,
            lambda x, rotations: (lsh_buckets(x, rotations) >= rotations.shape[-1]).long(),
        ),
    ),
    Misconception(
        "not long",
        _then(lambda bucket: bucket.double()),
        "The buckets have another dtype than asked for. Indices are long: with floats or short "
        "integers `gather` fails.",
        also=(
            _then(lambda bucket: bucket.float()),
            _then(lambda bucket: bucket.int()),
            _then(lambda bucket: bucket.to(torch.uint8)),
        ),
    ),
    Misconception(
        "other axes",
        _then(lambda bucket: bucket.unsqueeze(-1)),
        "The buckets are right, but there must be one for each vector: the shape of x without its "
        "last axis.",
        also=(
            _then(lambda bucket: bucket.flatten()),
            _then(lambda bucket: bucket.squeeze()),
            _then(lambda bucket: torch.nn.functional.one_hot(bucket)),
        ),
    ),
    Misconception(
        "part of the features left out",
        _build(along=lambda x, R: (x - x.mean(-1, keepdim=True)) @ R),
        "The vectors were moved or bent before the product. Nothing but their direction counts, "
        "and it must stay.",
        also=(
            _build(along=lambda x, R: x.abs() @ R),
            _build(along=lambda x, R: x.relu() @ R),
            _build(along=lambda x, R: (x - x.mean(-2, keepdim=True)) @ R),
            _build(along=lambda x, R: x.softmax(-1) @ R),
            _build(along=lambda x, R: x[..., :-1] @ R[:-1]),
            _build(along=lambda x, R: x @ R.abs()),
        ),
    ),
    Misconception(
        "directions brought to one length",
        _build(along=lambda x, R: x @ (R / R.norm(dim=0, keepdim=True))),
        "The columns of `rotations` were scaled first, which changes who is largest. They are used "
        "as they are given.",
        also=(
            _build(along=lambda x, R: x @ (R / R.norm(dim=1, keepdim=True))),
            _build(along=lambda x, R: x @ torch.linalg.qr(R)[0]),
        ),
    ),
    Misconception(
        "random directions of its own",
        lambda x, rotations: lsh_buckets(
            x, torch.randn(rotations.shape, generator=torch.Generator().manual_seed(0)).to(x.dtype)
        ),
        "The directions that were given are not used. Two calls with the same `rotations` must put "
        "equal vectors into equal buckets: where do the directions come from?",
        also=(lambda x, rotations: lsh_buckets(x, torch.randn(rotations.shape, dtype=x.dtype)),),
    ),
)
