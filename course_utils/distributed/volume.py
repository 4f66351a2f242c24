"""Count the bytes that one rank sends: by formula, and counted where it is passed to the backend.

Source: ring, Liu et al. 2023, https://arxiv.org/abs/2310.01889; Ulysses, Jacobs et al. 2023,
    https://arxiv.org/abs/2309.14509; heads, Shoeybi et al. 2019, Megatron-LM,
    https://arxiv.org/abs/1909.08053; ring all-reduce, Patarasuk and Yuan 2009
"""

from typing import Any, Literal, get_args

import torch.distributed as dist

from course_utils.measure.cost import Watching
from course_utils.validation import check_at_least, check_head_groups, check_instance

Scheme = Literal["ring", "ulysses", "tensor"]


def communication_bytes(
    scheme: Scheme,
    world_size: int,
    batch: int,
    num_tokens: int,
    num_heads: int,
    num_kv_heads: int,
    d_k: int,
    bytes_per_element: int,
    backward: bool = False,
) -> int:
    """Return how many bytes one rank sends for one layer's attention, d_v = d_k.

    Args:
        scheme: "ring", "ulysses" or "tensor" (heads split, the output projection by rows).
        world_size: The number of ranks; one sends nothing.
        batch: The number of sequences.
        num_tokens: The length of the text, all ranks together.
        num_heads: The number of query heads.
        num_kv_heads: The number of key/value heads.
        d_k: The width of a query, a key and a value.
        bytes_per_element: What one number takes.
        backward: Count the backward pass instead of the forward pass.
    """
    check_instance(str, scheme=scheme)
    check_instance(bool, backward=backward)
    if scheme not in get_args(Scheme):
        raise ValueError(f'scheme must be "ring", "ulysses" or "tensor", got {scheme!r}')
    check_at_least(
        1, world_size=world_size, batch=batch, num_tokens=num_tokens, num_heads=num_heads,
        num_kv_heads=num_kv_heads, d_k=d_k, bytes_per_element=bytes_per_element,
    )  # fmt: skip
    check_head_groups(num_heads, num_kv_heads)
    split = {"tokens": num_tokens}
    if scheme != "ring":
        split |= {"query heads": num_heads, "key/value heads": num_kv_heads}
    for what, number in split.items():
        if number % world_size:
            raise ValueError(f"{world_size} ranks must divide the {what}, got {number}")
    others = world_size - 1
    one_head = batch * (num_tokens // world_size) * d_k * bytes_per_element  # for a rank's tokens
    block = 2 * num_kv_heads * one_head  # keys and values
    if scheme == "ring":
        with_gradients = world_size * block if others else 0
        return others * block + (with_gradients if backward else 0)
    if scheme == "ulysses":
        return others * (block + 2 * num_heads * one_head) // world_size
    return 2 * others * num_heads * one_head


class SentBytes(Watching):
    """Counts the bytes of every tensor that is passed to the backend for another rank.

    `total` grows while the block is open. Only what the course's ranks use is counted: sends and
    all-to-alls; how often a backend's own all-reduce sends a number is up to the backend.
    """

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        if func.namespace == "c10d":
            self.total += _handed_over(func.overloadpacket.__name__, args)
        return func(*args, **(kwargs or {}))


def _handed_over(operation: str, args: tuple[Any, ...]) -> int:
    if operation == "send":
        return sum(tensor.nbytes for tensor in args[0])
    if operation == "alltoall_base_":
        whole: int = args[1].nbytes
        return whole - whole // dist.get_world_size()
    if operation in ("recv_", "barrier"):
        return 0
    raise ValueError(f"only sends and all-to-alls can be counted, got {operation}")
