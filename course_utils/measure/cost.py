"""Count what a function costs, without a clock: FLOPs, and the largest tensor that it makes.

Counts are the same on every machine, so an exponent fitted to them judges the code alone.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import flop_registry, shape_wrapper

from course_utils.validation import check_callable


def count_flops(fn: Callable[..., object], *args: object) -> int:
    """Count the floating-point operations of the matmuls in `fn(*args)`, 2 per multiply-add.

    A product with a vector counts like any other, and so do those inside of torch's own attention:
    all of its scores, even where a mask hides them. Element-wise work is not counted, as is usual:
    it is of lower order in the same sizes.
    """
    check_callable(fn=fn)
    with _Flops() as counter:
        fn(*args)
    return counter.total


def largest_tensor(fn: Callable[..., object], *args: object) -> int:
    """Count the elements of the largest tensor that `fn(*args)` puts into new memory.

    Views cost nothing and are not counted; neither are the inputs.
    """
    check_callable(fn=fn)
    with _LargestTensor(args) as tracker:
        fn(*args)
    return tracker.total


def elements_made(fn: Callable[..., object], *args: object) -> int:
    """Count the elements of all tensors that `fn(*args)` puts into new memory, in turn."""
    check_callable(fn=fn)
    with _Made() as made:
        fn(*args)
    return made.total


class Watching(TorchDispatchMode):
    """A mode that notes every torch operation, without torch.compile, which is slow to load.

    Attributes:
        total: What a subclass counts.
    """

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.total = 0

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False

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
        self.note(func, args, kwargs, out)
        return out

    def note(self, func: Any, args: Any, kwargs: Any, out: Any) -> None:
        """Look at an operation that was just called."""
        raise NotImplementedError


class _Flops(Watching):
    """Count with torch's own formulas, and with ours; torch's counter loads torch.compile."""

    def note(self, func: Any, args: Any, kwargs: Any, out: Any) -> None:
        formula = _FORMULAS.get(func.overloadpacket)
        if formula is not None:
            self.total += int(formula(*args, **kwargs, out_val=out))


class _Made(Watching):
    def note(self, func: Any, args: Any, kwargs: Any, out: Any) -> None:
        given = {storage_of(x) for x in tree_leaves((args, kwargs)) if isinstance(x, Tensor)}
        new = (x for x in tree_leaves(out) if isinstance(x, Tensor) and storage_of(x) not in given)
        self.total += sum(x.numel() for x in new)


class _LargestTensor(Watching):
    def __init__(self, args: object) -> None:
        super().__init__()
        self._given = {storage_of(leaf) for leaf in tree_leaves(args) if isinstance(leaf, Tensor)}

    def note(self, func: Any, args: Any, kwargs: Any, out: Any) -> None:
        for leaf in tree_leaves(out):
            if isinstance(leaf, Tensor) and storage_of(leaf) not in self._given:
                bytes_held = leaf.untyped_storage().nbytes()
                self.total = max(self.total, bytes_held // leaf.element_size())


# torch's own counter sees no product with a vector, none in place, and no attention on a CPU.
def _matrix_vector(matrix: Sequence[int], vector: Sequence[int], *rest: Any, **more: Any) -> int:
    return 2 * math.prod(matrix)


def _added_matrix_vector(start: Any, matrix: Sequence[int], *rest: Any, **more: Any) -> int:
    return 2 * math.prod(matrix)


def _added_product(
    start: Any, first: Sequence[int], second: Sequence[int], *rest: Any, **more: Any
) -> int:
    return 2 * math.prod(first) * second[-1]


def _attention(query: Sequence[int], key: Sequence[int], *rest: Any, **more: Any) -> int:
    return 4 * math.prod(query) * key[-2]


def _attention_backward(
    grad: Any, query: Sequence[int], key: Sequence[int], *rest: Any, **more: Any
) -> int:
    # The scores again, and one product each for weights, queries, keys and values.
    return 10 * math.prod(query) * key[-2]


_PRODUCTS = {
    torch.ops.aten.mv: _matrix_vector,
    torch.ops.aten.dot: _matrix_vector,
    torch.ops.aten.addmv: _added_matrix_vector,
    torch.ops.aten.addmv_: _added_matrix_vector,
    torch.ops.aten.addmm_: _added_product,
    torch.ops.aten.baddbmm_: _added_product,
    torch.ops.aten._scaled_dot_product_flash_attention_for_cpu: _attention,
    torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward: _attention_backward,
}
_FORMULAS = {**flop_registry, **{op: shape_wrapper(count) for op, count in _PRODUCTS.items()}}


def storage_of(tensor: Tensor) -> int:
    """Return the address of a tensor's storage."""
    return int(tensor.untyped_storage().data_ptr())
