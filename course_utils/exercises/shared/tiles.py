"""Mistakes where attention is computed a tile at a time, and what such an exercise counts.

The lines speak of `query`, `key`, `block_q`, `block_k`, `is_causal`, of the steps

    num_queries, num_keys = query.shape[2], key.shape[2]
    causal = is_causal
    row_tiles = cut(num_queries, block_q)
    key_tiles = cut(num_keys, block_k)

where cut(length, block) is the list of the tiles' begins and ends, and, inside of the loops over a
row tile from q0 to q1 and a key tile from k0 to k1, of

    skipped = k0 > q1 - 1
    i, j = torch.arange(q0, q1).unsqueeze(-1), torch.arange(k0, k1)
    future = j > i
    hidden = future & causal
    scores = scaled.masked_fill(hidden, -torch.inf)
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._pytree import tree_leaves

from course_utils.checking.exercise import Case, Cost, case
from course_utils.checking.inputs import Make, normal
from course_utils.checking.mistakes import Mistake, mistake
from course_utils.checking.recipe import Function
from course_utils.exercises.shared.linear import BY_NUMBER
from course_utils.measure import count_flops
from course_utils.measure.cost import Watching

TILES = (
    mistake("a ragged tail of keys dropped", "The last keys take no part: block_k does not divide S, and the short "
            "tile at the end was left out. How many tiles does it take to hold all S keys?",
            "key_tiles = cut(num_keys // block_k * block_k, block_k) or [(0, num_keys)]",
            "key_tiles = cut(num_keys, block_k)[:-1] or [(0, num_keys)]"),
    mistake("tiles that overlap", "Some keys or queries are counted twice: two tiles overlap. The last one begins "
            "where the one before it ended, and may be short.",
            "key_tiles = [(max(0, b - block_k), b) for _, b in cut(num_keys, block_k)]",
            "key_tiles = [(a, min(a + block_k + 1, num_keys)) for a, _ in cut(num_keys, block_k)]"),
    mistake("keys between the tiles lost", "A key at the end of every tile takes no part. Does a slice hold its last "
            "index?",
            "key_tiles = [(a, max(a + 1, min(a + block_k - 1, num_keys))) for a, _ in cut(num_keys, block_k)]"),
    mistake(
        "one tile only",
        "Only the first tile was seen. Is there a `return`, a `break` or a division inside a loop?",
        "key_tiles = cut(num_keys, block_k)[:1]",
    ),
    mistake("the loop over keys runs to L", "The loop over keys ends at the number of queries. Which of the two "
            "lengths has the keys?", "key_tiles = cut(min(num_queries, num_keys), block_k)",
            "key_tiles = [(a, b) for a, b in cut(num_keys, block_k) if a < num_queries]"),
)

_EVERY = "skipped = False\n"
_ABOVE = "skipped = k0 // block_k > q0 // block_q\n"
_NONE = "future = j < 0"
_DIAGONAL = "future = (j - k0 > i - q0) & (q0 // block_q == k0 // block_k)"
_BOTTOM_RIGHT = "future = j > i + num_keys - num_queries"

CAUSAL = (
    mistake("causal ignored", "The flag `is_causal` changes nothing: the future takes part. What must a tile on the "
            "diagonal hide, and which tiles does a block of queries not meet at all?", "causal = False"),
    mistake("always causal", "The future is hidden although nobody asked for it. What is the default of `is_causal`?",
            "causal = True", "causal = not is_causal"),
    mistake("causal by whole tiles", "Tiles wholly in the future are left out, but inside the tile on the diagonal "
            "every query sees every key. Which of its pairs are in the future?",
            _NONE, _ABOVE + _NONE, "future = (j > i) & (q0 == k0)", f"skipped = k0 > q1\n{_NONE}"),
    mistake("causal off by a tile", "A tile that part of a block of queries can see was left out, or hidden as a "
            "whole. Which query of the block decides whether a tile is needed: the first or the last?",
            "skipped = k0 > q0", "skipped = k1 > q1 and k0 > 0", _ABOVE, "skipped = k0 > 0 and k0 + block_k > q1",
            "skipped = k0 > 0 and k0 >= q0", "skipped = k0 > 0 and k0 >= q1 - 1",
            "skipped = k0 > 0 and k0 // block_k >= q0 // block_q"),
    mistake("places counted inside the tile", "Each tile hides above its own diagonal, as if it were the first of all. "
            "Where in the sequence is a tile's first query, and where its first key?",
            _EVERY + "future = j - k0 > i - q0", "future = j - k0 > i - q0", _ABOVE + _DIAGONAL, _DIAGONAL,
            "skipped = k0 > q1\nfuture = j > i - q0", _EVERY + "future = j - k0 > i"),
    mistake("causal aligned bottom-right", "Where L and S differ, the last query was allowed to see the last key. "
            "Here, as in PyTorch's own attention, query 0 sees key 0 alone: the diagonal begins at the top left.",
            _EVERY + _BOTTOM_RIGHT, _BOTTOM_RIGHT, _EVERY + "future = j > i + max(0, num_keys - num_queries)",
            _EVERY + "future = j > i + num_queries - num_keys"),
    mistake("causal off by one", "The diagonal is off by one: a query does not see its own key, or sees the next one.",
            _EVERY + "future = (j >= i) & (j > 0)", _EVERY + "future = j > i + 1", _EVERY + "future = j >= i",
            "future = (j >= i) & (j > 0)", "future = j > i + 1", "skipped = k0 > q1\nfuture = j > i + 1",
            "future = j >= i"),
    mistake("causal the wrong way", "The past is hidden and the future seen. Is a key hidden where its position is "
            "larger than the query's, or smaller?", _EVERY + "future = j < i", _EVERY + "future = j <= i"),
    mistake("fill that is not low enough", "What is in the future got a low score, but scores may be lower still, and "
            "then the future takes all the weight. Which number is below every score?",
            "scores = scaled.masked_fill(hidden, -100.0)", "scores = scaled.masked_fill(hidden, -1e4)"),
)

WAYS = (
    mistake("the full matrix", "The result is right, but all L × S scores are there at once: this is plain attention, "
            "whatever loops are around it. How many scores may exist at the same time?",
            "row_tiles = [(0, num_queries)]\nkey_tiles = [(0, num_keys)]"),
    mistake("more than a tile at once", "The result is right, but a piece of scores larger than block_q × block_k was "
            "made: a block of queries against all keys, a block of keys against all queries, or a block of a size "
            "that nobody asked for. Which two loops does a tile need?",
            "key_tiles = [(0, num_keys)]", "row_tiles = [(0, num_queries)]", "key_tiles = cut(num_keys, 2 * block_k)"),
    mistake("a mask of all pairs", "The scores come in tiles, but a mask of L × S was made to hide them: as many "
            "entries as all the scores. What says, from a tile's first query and first key alone, who sees whom in it?",
            "late = torch.ones(num_queries, num_keys, dtype=torch.bool).triu(1)\nfuture = late[q0:q1, k0:k1]"),
    mistake("future tiles computed", "The result is right, but tiles that are wholly in the future are computed and "
            "then hidden: half of the work for nothing. From which first key on can a block of queries stop?",
            "skipped = False", "skipped = k0 > q1", "skipped = k0 > q1 + block_k - 1"),
    mistake("block_q and block_k swapped", "The result is right, but the tiles have other sides than asked for: where "
            "block_q and block_k differ much, far too few tiles were visited. Which of the two numbers cuts the "
            "queries, and which the keys?", "row_tiles = cut(num_queries, block_k)\nkey_tiles = cut(num_keys, block_q)",
            "row_tiles = cut(num_queries, block_k)", "key_tiles = cut(num_keys, block_q)"),
)


def cases(made: Callable[..., Make]) -> tuple[Case, ...]:
    """Return a case for each way in which tiles fit the lengths, made from lengths, blocks and a flag."""
    return (
        case("one tile", made((3, 4), (3, 4), d=5)),
        case("two tiles of keys", made((3, 4), (3, 2), d=5)),
        case("2 × 3 tiles of 2 × 3", made((4, 9), (2, 3), d=5)),
        case("more queries than keys", made((8, 4), (4, 2), d=6)),
        case("a last tile of keys that is short", made((4, 7), (2, 3), d=5)),
        case("a last tile of queries that is short", made((7, 4), (3, 2), d=5)),
        case("both last tiles short", made((5, 11), (3, 4), False, d=6)),
        case("tiles larger than the input", made((5, 6), (16, 32), d=4)),
        case("tiles of one score", made((4, 5), (1, 1), d=3)),
        case("one head, every size is 4", made((4, 4), (2, 2), heads=(1, 1))),
        case("4 sequences, 4 heads", made((5, 6), (2, 3), heads=(4, 4), d=3)),
        case("every size is 1", made((1, 1), (1, 1), heads=(1, 1), d=1)),
        case("causal, one tile", made((4, 4), (4, 4), True, d=5)),
        case("causal, 8 tokens in tiles of 2 × 2", made((8, 8), (2, 2), True, d=5)),
        case("causal, tiles of 2 × 4", made((8, 8), (2, 4), True, d=3)),
        case("causal, tiles of 4 × 2", made((8, 8), (4, 2), True, d=3)),
        case("causal, 11 tokens in tiles of 3 × 4", made((11, 11), (3, 4), True, d=5)),
        case("causal, 5 queries, 9 keys", made((5, 9), (2, 3), True, d=4)),
        case("causal, 9 queries, 5 keys", made((9, 5), (2, 3), True, d=4)),
        case("causal, tiles larger than the input", made((6, 7), (9, 8), True, d=5)),
    )


BLOCK = 32
SIZES = (32, 160)  # the shorter length is a single tile, whatever the way
_TILE = BLOCK**2
_ROOM = 1.25  # a column of ones next to the scores does not make a larger tile
_KEPT = 20 * _TILE  # by far more than one tile's intermediate results, and fewer than all tiles
_FEW = 1.05
_ELSEWHERE = 8  # fewer operations of torch than this: the work was done without it


def inputs(length: int, g: torch.Generator) -> tuple[Any, ...]:
    """Make query, key, value and the block sizes, for one head.

    Vectors have width 1, so that products written out number by number are no larger than a tile.
    """
    parts = (normal(g, 1, 1, length, 1, dtype=torch.float32) for _ in range(3))
    return *parts, BLOCK, BLOCK


def costs(make: Callable[[int, torch.Generator], tuple[Any, ...]], mistakes: Iterable[Mistake]) -> tuple[Cost, ...]:
    """Return the limits of a tiled exercise, each with the mistake that goes beyond it."""
    says = {one.name: one.says for one in mistakes}
    limits: tuple[tuple[str, Function, str], ...] = (
        ("what torch's attention is given", _most("operator", _ROOM * _TILE), "PyTorch's own attention inside"),
        ("the largest tensor", _most("floats", 0.9 * SIZES[1] ** 2), "the full matrix"),
        ("the largest tile", _most("floats", _ROOM * _TILE), "more than a tile at once"),
        ("the largest mask", _most("others", _ROOM * _TILE), "a mask of all pairs"),
        ("the memory", _most("alive", _KEPT), "every tile kept"),
        ("the causal work", _causal_share, "future tiles computed"),
        ("the size of a step", _tiles_a_step, "block_q and block_k swapped"),
    )
    return tuple(Cost(name, count, SIZES, make, 0.001, says[called], called) for name, count, called in limits)


@dataclass
class _Held:
    """The most that was held at once, in numbers, and what was done."""

    operator: int = 0  # scores inside of torch's own attention
    floats: int = 0  # the largest tensor of numbers
    others: int = 0  # the largest tensor of booleans or integers
    alive: int = 0  # all tensors together
    steps: int = 0  # operations
    by_number: int = 0  # products and exponentials outside of matrix products


_LAST: list[Any] = [None, {}]  # a function, and what it held at each size


def _hold(fn: Function, *args: Any) -> _Held:
    watch = _Watch(args)
    with watch:
        fn(*args)
    return watch.held


def _most(what: str, free: float) -> Function:
    """Return a count of what was held, with or without a causal mask, of which some is free."""

    def count(fn: Function, *args: Any) -> int:
        if _LAST[0] is not fn:  # five limits look at the same calls
            _LAST[:] = [fn, {}]
        size = args[0].shape
        if size not in _LAST[1]:
            _LAST[1][size] = [_hold(fn, *args, flag) for flag in (False, True)]
        return max(int(free), *(int(getattr(held, what)) for held in _LAST[1][size]))

    return count


def _work(fn: Function, *args: Any) -> int:
    watch = _Watch(args)
    with watch:
        flops = count_flops(fn, *args)
    return flops + watch.held.by_number


def _causal_share(fn: Function, *args: Any) -> int:
    """Return the causal work as a share of the other, per mille of the share of visible tiles."""
    *_, block_q, block_k = args
    length = args[0].shape[2]
    ends = range(block_q, length + block_q, block_q)
    visible = sum(-(-min(end, length) // block_k) for end in ends)
    share = visible / (len(ends) * -(-length // block_k))
    done = _work(fn, *args, True) / max(_work(fn, *args, False), 1)
    return int(1000 * max(done / share, _FEW))


def _tiles_a_step(fn: Function, *args: Any) -> int:
    """Return how many tiles an operation covers, per mille, where a tile is one row or one column.

    For one query and many keys, in tiles of many queries and one key, and the other way round: each
    tile takes at least one operation, and whoever mixes up the two block sizes has a single tile.
    """
    *tensors, _, _ = args
    length = args[0].shape[2]
    most = 1.0
    for flat, blocks in ((True, (length, 1)), (False, (1, length))):
        cut = [x if (at in (1, 2)) == flat else x[:, :, :1] for at, x in enumerate(tensors)]
        steps = _hold(fn, *cut, *blocks).steps
        most = max(most, length / steps if steps >= _ELSEWHERE else 1.0)
    return int(1000 * most)


class _Watch(Watching):
    def __init__(self, args: object) -> None:
        super().__init__()
        self.held = _Held()
        tensors = [leaf for leaf in tree_leaves(args) if isinstance(leaf, Tensor)]
        self._given = {StorageWeakRef(x.untyped_storage()) for x in tensors}
        self._alive: dict[StorageWeakRef, int] = {}

    def note(self, func: Any, args: Any, kwargs: Any, out: Any) -> None:
        name = func.overloadpacket.__name__
        self.held.steps += 1
        if name in BY_NUMBER and isinstance(out, Tensor):
            self.held.by_number += math.prod(out.shape)
        if "attention" in name:
            self._note_operator(args)
        for leaf in tree_leaves(out):
            if isinstance(leaf, Tensor):
                self._note(leaf)
        if self.total > self.held.alive:
            self._sweep()

    def _sweep(self) -> None:
        """Forget what is gone; what is left may be the most that was ever alive."""
        self._alive = {ref: size for ref, size in self._alive.items() if not ref.expired()}
        self.total = sum(self._alive.values())
        self.held.alive = max(self.held.alive, self.total)

    def _note_operator(self, args: Any) -> None:
        """Count the scores between what an attention operator takes as query and key."""
        longest = sorted(x.shape[-2] for x in args if isinstance(x, Tensor) and x.dim() == 4)
        if len(longest) > 1:
            self.held.operator = max(self.held.operator, longest[0] * longest[-1])

    def _note(self, made: Tensor) -> None:
        storage = made.untyped_storage()
        ref = StorageWeakRef(storage)
        if ref in self._given:
            return
        size = storage.nbytes() // made.element_size()
        self.total += size - self._alive.get(ref, 0)
        self._alive[ref] = size
        if made.is_floating_point():
            self.held.floats = max(self.held.floats, size)
        else:
            self.held.others = max(self.held.others, size)
