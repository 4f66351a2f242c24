"""Exercise: the hash that puts near vectors into one bucket."""

from typing import Any

import torch
from course_utils.attention import lsh_buckets
from course_utils.checking.exercise import case, exercise
from course_utils.checking.inputs import normal
from course_utils.checking.mistakes import mistake, only
from course_utils.exercises.shared.kinds import batch_mixed, other_kinds

RIGHT = """
def lsh_buckets(x, rotations):
    along = x @ rotations
    both = torch.cat((along, -along), -1)
    bucket = both.argmax(-1)
    return bucket
"""
_BITS = "bucket = ((both > 0) * 2 ** torch.arange(both.shape[-1])).sum(-1)"
_STEEPEST = (
    "best = along.abs().argmax(-1, keepdim=True)\n"
    "bucket = (best + along.shape[-1] * (along.gather(-1, best) < {})).squeeze(-1)"
)


def _whole(g: torch.Generator) -> tuple[Any, ...]:
    """Make small whole numbers, so that many directions are equally near."""
    x, rotations = normal(g, 2, 12, 3).round(), normal(g, 3, 4)
    x[0, 0] = 0.0
    return x, rotations.round().clamp(-1, 1)


def _nearly_ties(g: torch.Generator) -> tuple[Any, ...]:
    """Make pairs of directions of which the second reaches a little further: in the fourth or the eighth digit."""
    x, rotations = normal(g, 2, 9, 5), normal(g, 5, 4)
    rotations[:, 2] = rotations[:, 0] * (1 + 3e-8)
    rotations[:, 3] = rotations[:, 1] * (1 + 1e-4)
    return x, rotations


EXERCISE = exercise(
    lsh_buckets,
    right=RIGHT,
    asks="Give each vector the index of the nearest of the directions R and -R.",
    minutes=8,
    difficulty=2,
    importance=3,
    cases=(
        case("8 vectors of width 4, 4 directions", L=8, d=4, half=4),
        case("10 vectors of width 3, 5 directions", L=10, d=3, half=5),
        case("leading axes (2, 3)", batch=(2, 3), L=7, d=5, half=4),
        case("one direction: two buckets", L=9, d=4, half=1),
        case("short and long vectors", batch=(3,), L=11, d=6, half=8, size=100.0, rotations=lambda g: normal(g, 6, 8)),
        case("ties, and a vector of zeros", _whole),
        case("directions that differ in the fourth digit, or the eighth", _nearly_ties),
        case("one vector", L=1, d=3, half=2),
        case("an axis of size 1", batch=(1,), L=6, d=4, half=3),
        case("non-contiguous inputs", batch=(2,), L=9, d=4, half=3, strided=True),
        case("float32", batch=(2,), L=40, d=8, half=16, dtype="float32"),
    ),
    mistakes=(
        mistake("argmin", "The bucket is that of the direction that points away most: the smallest number was taken, "
                "or the halves are [-xR, xR]. Which index does the nearest one have?",
                "bucket = both.argmin(-1)", "both = torch.cat((-along, along), -1)"),
        mistake("no sign half", "Only one half was tried, the directions or their opposites, so half of the buckets "
                "are never used. How many are there for n/2 columns?",
                "both = along", "both = torch.cat((along, along), -1)", "both = -along"),
        mistake("the largest entry of [x, -x]", "The largest entry of the vectors themselves was looked for, as a "
                "printed formula says: the buckets are the same for all `rotations`. What is to be compared with what "
                "before the largest is taken?", "both = torch.cat((x, -x), -1)", "both = x", "both = x.abs()",
                "both = torch.cat((x, -x), -1)\nbucket = both.argmax(-1) % (2 * rotations.shape[1])",
                "both = torch.cat((x, -x), -1)\nbucket = both.argmax(-1) % rotations.shape[0]",
                "one = F.one_hot(torch.cat((x, -x), -1).argmax(-1) % x.shape[-1], x.shape[-1]).to(x.dtype)\n"
                "along = one @ rotations"),
        mistake("signs side by side", "Each direction is next to its opposite: an order other than [xR, -xR]. How are "
                "two halves put one after the other?",
                "both = torch.stack((along, -along), -1).flatten(-2)",
                "both = torch.stack((-along, along), -1).flatten(-2)"),
        mistake("the sign dropped", "A vector and its opposite come into one bucket: the sign was dropped. They are as "
                "far apart as can be: how do their entries of xR differ?", "both = along.abs()"),
        mistake("a bit for each direction", "Each direction gives a bit, and the bits a number: another hash, with "
                "2^(n/2) buckets. Here the nearest direction counts: what is its index?", f"both = along\n{_BITS}",
                _BITS, f"both = along.flip(-1)\n{_BITS}", "bucket = (along > 0).long().sum(-1)",
                "bucket = (along[..., 0] > 0).long()"),
        mistake("rotations transposed", "The rows of `rotations` were taken for directions. They are (d, n/2): a "
                "column each. What does x @ R sum over?", "along = x @ rotations.mT"),
        mistake("chosen along another axis", "The halves were joined along the positions or the sequences, or the "
                "largest number was looked for among these, or all at once. Each vector has its own bucket: which "
                "axis holds the directions, counted from the end?",
                "bucket = both.argmax(-2)", "bucket = both.argmax(0)", "bucket = both.argmax(1)",
                "bucket = both.argmax()", "both = torch.cat((along, -along), -2)",
                "both = torch.cat((along, -along), 0)"),
        mistake("the largest number instead of its index", "These are numbers along the directions. A bucket is the "
                "index of the largest.", "bucket = both.amax(-1)", "bucket = both.max(-1)", "bucket = both",
                "bucket = both.softmax(-1)", "bucket = both.argsort(-1)"),
        mistake("another index on ties", "Where several directions are equally near, one other than the first was "
            "taken. "
                "A vector of zeros is equally near to all: which index does it get?",
                "bucket = both.shape[-1] - 1 - both.flip(-1).argmax(-1)", _STEEPEST.format("0.0"),
                "bucket = both.topk(1, -1).indices.squeeze(-1)", _STEEPEST.format("1e-300"),
                "high, low = along.max(-1), (-along).max(-1)\n"
                "bucket = torch.where(high.values > low.values, high.indices, low.indices + along.shape[-1])"),
        mistake("rounded first", "Of two directions that are nearly as near, the wrong one was taken: digits were lost "
                "before the comparison. Which line rounds, or changes the type?",
                *(f"along = (x.{kind}() @ rotations.{kind}())" for kind in ("float", "half", "bfloat16")),
                "along = (x @ rotations).float()", "along = (x @ rotations).half()", "along = (x @ rotations).round()",
                *(f"along = (x @ rotations).round(decimals={n})" for n in (1, 2, 3, 4, 6, 8)),
                "along = (x @ rotations).long()", "along = (x @ rotations).int()"),
        mistake("signs instead of sizes",
                "Only the signs were compared: all directions on a vector's side count alike. "
                "Which one is the nearest?", "both = torch.cat((along.sign(), -along.sign()), -1)",
                "both = along.sign()", "both = (along > 0).long()",
                "both = torch.cat((along > 0, along < 0), -1).long()"),
        mistake("something other than the opposite",
                "The second half does not say how far each vector reaches the other "
                "way. What becomes of x·r if r is turned round?", "both = torch.cat((along, 1 - along), -1)",
                "both = torch.cat((along, 1 / along), -1)", "both = torch.cat((along, -along.flip(-1)), -1)"),
        mistake("the opposites numbered from another place",
                "The directions have the right numbers, and their opposites "
                "do not: they begin too high or too low. With n/2 columns, which is the first number that is free?",
                *(f"return torch.where(bucket < along.shape[-1], bucket, bucket {more})"
                  for more in ("+ along.shape[-1]", "+ 1", "- 1"))),
        mistake("counted from 1", "All buckets are moved by one. The first index is 0.",
                "bucket = both.argmax(-1) + 1", "bucket = both.argmax(-1) - 1"),
        mistake("folded to fewer buckets", "Buckets of the second half were folded onto the first. There are n of "
                "them, twice as many as columns.", "return bucket % rotations.shape[-1]", "return bucket // 2",
                "return (bucket >= rotations.shape[-1]).long()"),
        mistake("not long", "The buckets have a different dtype from the one asked "
            "for. Indices are long: with floats or short "
                "integers `gather` fails.",
                *(f"return bucket.to(torch.{dtype})" for dtype in ("float64", "float32", "int32", "uint8"))),
        mistake("other axes", "The buckets are right, but there must be one for each vector: the shape of x without "
                "its last axis.", "return bucket.unsqueeze(-1)", "return bucket.flatten()", "return bucket.squeeze()",
                "return F.one_hot(bucket)"),
        mistake("part of the features left out", "The vectors were moved or bent before the product. Nothing but their "
                "direction counts, and it must stay.", "along = (x - x.mean(-1, keepdim=True)) @ rotations",
                "along = x.abs() @ rotations", "along = x.relu() @ rotations",
                "along = (x - x.mean(-2, keepdim=True)) @ rotations", "along = x.softmax(-1) @ rotations",
                "along = x[..., :-1] @ rotations[:-1]", "along = x @ rotations.abs()"),
        mistake("directions brought to one length", "The columns of `rotations` were scaled first, which changes who "
                "is largest. They are used as they are given.",
                "along = x @ (rotations / rotations.norm(dim=0, keepdim=True))",
                "along = x @ (rotations / rotations.norm(dim=1, keepdim=True))",
                "along = x @ torch.linalg.qr(rotations)[0]"),
        mistake("random directions of its own", "The directions that were given are not used. Two calls with the same "
                "`rotations` must put equal vectors into equal buckets: where do the directions come from?",
                "own = torch.randn(rotations.shape, generator=torch.Generator().manual_seed(0))\n"
                "along = x @ own.to(x.dtype)", "along = x @ torch.randn(rotations.shape, dtype=x.dtype)"),
        batch_mixed("return bucket[:1].expand(x.shape[:-1]) if x.dim() > 2 else bucket",
                    "return bucket[0].expand(x.shape[:-1]) if x.dim() > 2 else bucket",
                    "return bucket[-1:].expand(x.shape[:-1]) if x.dim() > 2 else bucket"),
        *only(other_kinds("bucket"), "nothing returned", "a list"),
    ),
    hints=(
        "x · R says how far each vector reaches along each of n/2 directions. How far does it reach along their "
        "opposites?",
        "Put both halves side by side along the last axis: n numbers for each vector.",
        "The bucket is the index of the largest one. torch's own search gives the first where several are equal.",
    ),
)
