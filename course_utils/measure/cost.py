"""Count what a function costs, without a clock: FLOPs, and the largest tensor that it makes.

Counts are the same on every machine, so an exponent fitted to them judges the code and not the day.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import FlopCounterMode


def count_flops(fn: Callable[..., object], *args: object) -> int:
    """Count the floating-point operations of the matrix products in `fn(*args)`, 2 a multiply-add.

    A product with a vector counts like any other. Element-wise work is not counted, as is usual:
    it is a lower order of the same sizes.
    """
    with FlopCounterMode(display=False, custom_mapping=_VECTOR_PRODUCTS) as counter:
        fn(*args)
    return int(counter.get_total_flops())


def largest_tensor(fn: Callable[..., object], *args: object) -> int:
    """Count the elements of the largest tensor that `fn(*args)` puts into new memory.

    Views cost nothing and are not counted; neither are the inputs.
    """
    with _LargestTensor(args) as tracker:
        fn(*args)
    return int(tracker.elements)


class _LargestTensor(TorchDispatchMode):
    def __init__(self, args: object) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.elements = 0
        self._given = {_storage(leaf) for leaf in tree_leaves(args) if isinstance(leaf, Tensor)}

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> object:
        out = func(*args, **(kwargs or {}))
        for leaf in tree_leaves(out):
            if isinstance(leaf, Tensor) and _storage(leaf) not in self._given:
                bytes_held = leaf.untyped_storage().nbytes()
                self.elements = max(self.elements, bytes_held // leaf.element_size())
        return out


# torch's own counter sees products of two matrices only, not those with a vector.
def _matrix_vector(matrix: Sequence[int], vector: Sequence[int], *rest: Any, **more: Any) -> int:
    return 2 * math.prod(matrix)


def _added_matrix_vector(start: Any, matrix: Sequence[int], *rest: Any, **more: Any) -> int:
    return 2 * math.prod(matrix)


_VECTOR_PRODUCTS = {
    torch.ops.aten.mv: _matrix_vector,
    torch.ops.aten.dot: _matrix_vector,
    torch.ops.aten.addmv: _added_matrix_vector,
}


def _storage(tensor: Tensor) -> int:
    return tensor.untyped_storage().data_ptr()
