"""What the tiled exercises count: how much is held at once, how much is kept, what is computed."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from course_utils.checking.exercise import Cost, Function, Misconception
from course_utils.checking.inputs import normal
from course_utils.exercises.ch08_cheaper._counting import work

BLOCK = 32
SIZES = (32, 160)  # the shorter length is a single tile, whatever the way
_TILE = BLOCK**2
_ROOM = 1.25  # a column of ones beside the scores is no larger tile
_KEPT = 20 * _TILE  # by far more than one tile's intermediate results, and fewer than all tiles
_FEW = 1.05


@dataclass
class Held:
    """The most that was held at once, in numbers."""

    operator: int = 0  # scores inside of torch's own attention
    floats: int = 0  # the largest tensor of numbers
    others: int = 0  # the largest tensor of booleans or integers
    alive: int = 0  # all tensors together


def inputs(length: int, g: torch.Generator) -> tuple[Any, ...]:
    """Make query, key, value and the block sizes, for one head.

    Vectors have width 1, so that products written out number by number are no larger than a tile.
    """
    parts = (normal(g, 1, 1, length, 1, dtype=torch.float32) for _ in range(3))
    return *parts, BLOCK, BLOCK


def costs(
    make: Callable[[int, torch.Generator], tuple[Any, ...]],
    operator: Misconception,
    whole: Misconception,
    large: Misconception,
    mask: Misconception,
    kept: Misconception,
    future: Misconception,
) -> tuple[Cost, ...]:
    """Return the limits of a tiled exercise, each with the mistake that goes beyond it."""
    limits: tuple[tuple[str, Function, Misconception], ...] = (
        ("what torch's attention is given", _most("operator", _ROOM * _TILE), operator),
        ("the largest tensor", _most("floats", 0.9 * SIZES[1] ** 2), whole),
        ("the largest tile", _most("floats", _ROOM * _TILE), large),
        ("the largest mask", _most("others", _ROOM * _TILE), mask),
        ("the memory", _most("alive", _KEPT), kept),
        ("the causal work", _causal_share, future),
    )
    return tuple(
        Cost(name, count, SIZES, make, 0.001, mistake.says, mistake)
        for name, count, mistake in limits
    )


def _most(what: str, free: float) -> Function:
    """Return a count of what was held, with or without a causal mask, of which some is free."""

    def count(fn: Function, *args: Any) -> int:
        plain, causal = (getattr(_hold(fn, *args, flag), what) for flag in (False, True))
        return max(int(free), int(plain), int(causal))

    return count


def _hold(fn: Function, *args: Any) -> Held:
    watch = _Watch(args)
    with watch:
        fn(*args)
    return watch.held


def _causal_share(fn: Function, *args: Any) -> int:
    """Return the causal work as a share of the other, per mille of the share of visible tiles."""
    *_, block_q, block_k = args
    length = args[0].shape[2]
    ends = range(block_q, length + block_q, block_q)
    visible = sum(-(-min(end, length) // block_k) for end in ends)
    share = visible / (len(ends) * -(-length // block_k))
    done = work(fn, *args, True) / max(work(fn, *args, False), 1)
    return int(1000 * max(done / share, _FEW))


class _Watch(TorchDispatchMode):
    def __init__(self, args: object) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.held = Held()
        tensors = [leaf for leaf in tree_leaves(args) if isinstance(leaf, Tensor)]
        self._given = {StorageWeakRef(x.untyped_storage()) for x in tensors}
        self._alive: dict[StorageWeakRef, int] = {}
        self._total = 0

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> object:
        kwargs = kwargs or {}
        if torch.is_inference_mode_enabled():  # composed operations arrive whole, and hide parts
            with self:
                out = func.decompose(*args, **kwargs)
            if out is not NotImplemented:
                return out
        out = func(*args, **kwargs)
        if "attention" in func.overloadpacket.__name__:
            self._note_operator(args)
        for leaf in tree_leaves(out):
            if isinstance(leaf, Tensor):
                self._note(leaf)
        if self._total > self.held.alive:
            self._sweep()
        return out

    def _sweep(self) -> None:
        """Forget what is gone; what is left may be the most that was ever alive."""
        self._alive = {ref: size for ref, size in self._alive.items() if not ref.expired()}
        self._total = sum(self._alive.values())
        self.held.alive = max(self.held.alive, self._total)

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
        self._total += size - self._alive.get(ref, 0)
        self._alive[ref] = size
        if made.is_floating_point():
            self.held.floats = max(self.held.floats, size)
        else:
            self.held.others = max(self.held.others, size)
