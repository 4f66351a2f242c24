"""What the cost-checked exercises count besides the package's own measures."""

import math
from collections.abc import Callable
from typing import Any

from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from course_utils.measure import count_flops, largest_tensor

# Products and exponentials taken number by number: a matrix product can be written with them too.
_BY_NUMBER = {"mul", "mul_", "div", "div_", "exp", "exp_", "pow", "_softmax", "addcmul"}


def work(fn: Callable[..., object], *args: object) -> int:
    """Count the FLOPs of matrix products, and each product or exponential outside of them once."""
    with _ByNumber() as counter:
        flops = count_flops(fn, *args)
    return flops + int(counter.total)


def largest_above(
    floor: Callable[..., int],
) -> Callable[..., int]:
    """Return a count of the largest tensor that calls all below a floor equal.

    Args:
        floor: How many numbers a tensor may hold anyhow, given the arguments.
    """

    def count(fn: Callable[..., object], *args: object) -> int:
        return max(largest_tensor(fn, *args), floor(*args))

    return count


class _ByNumber(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.total = 0

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> object:
        out = func(*args, **(kwargs or {}))
        if func.overloadpacket.__name__ in _BY_NUMBER and isinstance(out, Tensor):
            self.total += math.prod(out.shape)
        return out
