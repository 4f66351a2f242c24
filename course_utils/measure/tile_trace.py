"""Count the tiles that attention moves between the large memory and the fast one.

On a GPU tensors lie in the large memory (HBM) and arithmetic happens on the fast one (SRAM), so
that every tile is loaded, and every result stored. Here two programs are watched at that level:
PyTorch code on a CPU, in which each operation loads what it reads, and a Triton kernel under
Triton's interpreter, which says itself what it loads and stores.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from torch import Tensor
from torch.utils._pytree import tree_leaves

from course_utils.measure.cost import Watching, storage_of
from course_utils.validation import check_at_least, check_callable

Moves = list[tuple[int, bool]]  # bytes, and whether they were stored


@dataclass(frozen=True)
class TileTrace:
    """A transfer between memories.

    Attributes:
        loads: How many tiles came from the large memory.
        stores: How many tiles went to it.
        bytes_loaded: Their bytes; what a mask hides does not move.
        bytes_stored: Their bytes.
    """

    loads: int
    stores: int
    bytes_loaded: int
    bytes_stored: int

    @property
    def bytes_moved(self) -> int:
        """All bytes, in both directions."""
        return self.bytes_loaded + self.bytes_stored


def trace_torch(fn: Callable[..., object], *args: object, sram_elements: int) -> TileTrace:
    """Return what `fn(*args)` moves, if each of its operations were a kernel.

    The large memory holds the arguments, the results, and each tensor that would not fit
    into the fast one. An operation loads the views of those that it reads, every time, and
    stores those that it writes. Smaller intermediate tensors stay in the fast memory.

    Args:
        fn: The code to watch.
        args: Its arguments.
        sram_elements: How many elements the fast memory holds.
    """
    check_callable(fn=fn)
    check_at_least(1, sram_elements=sram_elements)
    with _Watch(sram_elements) as watch:
        out = fn(*args)
    large = watch.large | {watch.name(x) for x in _tensors(out)}
    return _summed([(size, is_store) for name, size, is_store in watch.moves if name in large])


def trace_triton(fn: Callable[..., object], *args: object) -> TileTrace:
    """Return what the Triton kernels that `fn(*args)` launches load and store.

    They must run in Triton's interpreter. Atomic operations are not counted.

    Raises:
        ValueError: No kernel ran in the interpreter.
    """
    check_callable(fn=fn)
    builder = import_module("triton.runtime.interpreter").interpreter_builder
    moves: Moves = []
    load, store = builder.create_masked_load, builder.create_masked_store

    def watched_load(ptrs: Any, mask: Any, *rest: Any, **more: Any) -> Any:
        moves.append((_visible_bytes(ptrs, mask), False))
        return load(ptrs, mask, *rest, **more)

    def watched_store(ptrs: Any, value: Any, mask: Any, *rest: Any, **more: Any) -> Any:
        moves.append((_visible_bytes(ptrs, mask), True))
        return store(ptrs, value, mask, *rest, **more)

    # Every kind of load and store, including those of descriptors, ends up in these two.
    builder.create_masked_load, builder.create_masked_store = watched_load, watched_store
    try:
        fn(*args)
    finally:
        del builder.create_masked_load, builder.create_masked_store
    if not moves:
        raise ValueError("fn must run a Triton kernel in the interpreter, got no load and no store")
    return _summed(moves)


def _summed(moves: Moves) -> TileTrace:
    loaded, stored = (
        [size for size, is_store in moves if size and is_store == way] for way in (False, True)
    )
    return TileTrace(len(loaded), len(stored), sum(loaded), sum(stored))


def _visible_bytes(ptrs: Any, mask: Any) -> int:
    return int(np.asarray(mask.data).sum()) * int(ptrs.get_element_ty().primitive_bitwidth) // 8


class _Watch(Watching):
    """Notes each load and store; a tensor's name is a number, since memory is used again."""

    def __init__(self, sram_elements: int) -> None:
        super().__init__()
        self.sram_elements = sram_elements
        self.large: set[int] = set()
        self.moves: list[tuple[int, int, bool]] = []
        self._names: dict[int, int] = {}  # of the memory at an address, by now
        self._last = 0

    def name(self, tensor: Tensor) -> int:
        """Return the name of a tensor's memory; if it has none, it was there before the call."""
        if storage_of(tensor) not in self._names:
            self._enter(tensor, is_large=True)
        return self._names[storage_of(tensor)]

    def _enter(self, tensor: Tensor, is_large: bool) -> None:
        self._last += 1
        self._names[storage_of(tensor)] = self._last
        if is_large:
            self.large.add(self._last)

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> object:
        kwargs = kwargs or {}
        out = func(*args, **kwargs)
        read, written = _roles(func, args, kwargs)
        known = {storage_of(x) for x in (*read, *written)}
        new = [x for x in _tensors(out) if storage_of(x) not in known]
        for tensor in new:
            self._enter(tensor, is_large=tensor.numel() > self.sram_elements)
        if new or written:  # else all outputs are views
            self._note(read, is_store=False)
            fills = not func._schema.name.startswith(("aten::empty", "aten::new_empty"))
            self._note(written + new * fills, is_store=True)
        return out

    def _note(self, tensors: list[Tensor], is_store: bool) -> None:
        for x in tensors:
            # Along an axis of stride 0 one number is repeated: it is loaded once.
            sizes = zip(x.shape, x.stride(), strict=True)
            elements = math.prod(size if stride else min(size, 1) for size, stride in sizes)
            self.moves.append((self.name(x), elements * x.element_size(), is_store))


def _roles(func: Any, args: Any, kwargs: Any) -> tuple[list[Tensor], list[Tensor]]:
    """Return the tensors that an operation reads, and those given that it writes."""
    name: str = func._schema.name
    read: list[Tensor] = []
    written: list[Tensor] = []
    for place, argument in enumerate(func._schema.arguments):
        tensors = _tensors(args[place] if place < len(args) else kwargs.get(argument.name))
        writes = argument.alias_info is not None and argument.alias_info.is_write
        if writes:
            written += tensors
        overwrites = argument.is_out or name in ("aten::copy_", "aten::fill_", "aten::zero_")
        only_shape = name.endswith("_like") or name.startswith("aten::new_")
        if not ((writes and overwrites) or only_shape):
            read += tensors
    return read, written


def _tensors(tree: object) -> list[Tensor]:
    return [leaf for leaf in tree_leaves(tree) if isinstance(leaf, Tensor)]
