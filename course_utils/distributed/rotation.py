"""One rotation of the ring: every rank sends tensors to the next one, at the same time."""

from collections.abc import Callable

import torch
import torch.distributed as dist
from torch import Tensor


def begin_rotation(*tensors: Tensor) -> Callable[[], tuple[Tensor, ...]]:
    """Send tensors to rank + 1, and return a function that waits for those of rank - 1.

    What is computed between the two hides the transfer time.
    """
    rank, world_size = dist.get_rank(), dist.get_world_size()
    if world_size == 1:
        return lambda: tensors
    following, previous = (rank + 1) % world_size, (rank - 1) % world_size
    sent = [tensor.contiguous() for tensor in tensors]  # gloo refuses others
    # `empty_like` would keep strides that gloo refuses.
    got = [torch.empty(tensor.shape, dtype=tensor.dtype, device=tensor.device) for tensor in sent]
    works = dist.batch_isend_irecv(
        [dist.P2POp(dist.isend, tensor, following) for tensor in sent]
        + [dist.P2POp(dist.irecv, tensor, previous) for tensor in got]
    )

    def finish() -> tuple[Tensor, ...]:
        for work in works:
            work.wait()
        sent.clear()  # kept alive until they are sent
        return tuple(got)

    return finish


def rotated(*tensors: Tensor) -> tuple[Tensor, ...]:
    """Send tensors to rank + 1 and return those of rank - 1."""
    return begin_rotation(*tensors)()
