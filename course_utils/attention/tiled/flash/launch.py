"""Launch the flash kernels: how the work is tiled, and what a kernel is passed.

Source: Triton's tutorial "Fused Attention", which tiles in the same way,
    https://triton-lang.org/main/getting-started/tutorials/06-fused-attention.html
Differs: the tiling is looked up and never autotuned while the program runs, so every call takes
    the same time and the same kernel runs on every machine.
"""

from contextlib import AbstractContextManager
from functools import partial
from typing import Any, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from course_utils.attention.tiled.flash import kernels as kernels
from course_utils.attention.tiled.flash.mods import Extras, mod_of
from course_utils.triton_interpreter import TensorDescriptor, interpreter


class Tiling(NamedTuple):
    """The tiling of a kernel: rows and keys of a tile, warps of a program, loads under way."""

    block_q: int
    block_k: int
    num_warps: int
    num_stages: int


class Tilings(NamedTuple):
    """One tiling for each kernel."""

    forward: Tiling
    query: Tiling
    key_value: Tiling


# By bytes of a number and width. Those of 2 bytes, up to width 128, were the fastest of 24 on an
# H100, or level with it (records/flash_tilings.json); float32 has no tensor cores here, and small
# tiles. All but float32's last fit in a Hopper GPU's registers, according to the compiler (see
# tools/compile_flash.py). Those of width 256, and those for a cap, are unmeasured.
TILINGS = {
    (2, 64): Tilings(Tiling(64, 128, 4, 2), Tiling(128, 64, 4, 3), Tiling(128, 64, 4, 2)),
    (2, 128): Tilings(Tiling(64, 64, 4, 3), Tiling(128, 64, 8, 3), Tiling(64, 64, 4, 2)),
    (2, 256): Tilings(Tiling(128, 64, 8, 2), Tiling(64, 64, 8, 2), Tiling(32, 64, 8, 2)),
    (4, 64): Tilings(Tiling(16, 32, 8, 2), Tiling(16, 32, 8, 2), Tiling(32, 16, 4, 2)),
    (4, 128): Tilings(Tiling(16, 16, 8, 2), Tiling(16, 16, 8, 2), Tiling(32, 16, 8, 2)),
    (4, 256): Tilings(Tiling(16, 16, 8, 1), Tiling(16, 16, 8, 1), Tiling(16, 16, 8, 1)),
}
# A cap's derivative is one more tile to keep until it is needed: fewer numbers to each thread.
CAPPED = {
    (2, 64): TILINGS[2, 64]._replace(query=Tiling(128, 64, 8, 3), key_value=Tiling(64, 64, 4, 2)),
    (2, 128): TILINGS[2, 128]._replace(key_value=Tiling(64, 64, 8, 2)),
    (4, 128): TILINGS[4, 128]._replace(key_value=Tiling(32, 16, 4, 2)),
}
NOTHING = Extras()
ON_CPU = Tilings(*[Tiling(64, 64, 1, 1)] * 3)


def gpu_tilings(dtype: torch.dtype, width: int, is_capped: bool = False) -> Tilings:
    """Return how the kernels are cut on a GPU, for heads whose wider half is this wide."""
    kind = dtype.itemsize, next(size for size in (64, 128, 256) if width <= size)
    return CAPPED.get(kind, TILINGS[kind]) if is_capped else TILINGS[kind]


def _tilings(query: Tensor, value: Tensor, extras: Extras) -> Tilings:
    width = max(query.shape[-1], value.shape[-1])
    return gpu_tilings(query.dtype, width, extras.cap is not None) if query.is_cuda else ON_CPU


def flash_forward(
    query: Float[Tensor, "B H L d"],
    key: Float[Tensor, "B H_kv S d"],
    value: Float[Tensor, "B H_kv S d_v"],
    scale: float,
    is_causal: bool = False,
    tilings: Tilings | None = None,
    tile: Any = kernels.flash_forward_tile,
    extras: Extras = NOTHING,
) -> tuple[Float[Tensor, "B H L d_v"], Float[Tensor, "B H L"]]:
    """Return the output and, to base 2, the logsumexp of the scaled scores.

    Args:
        query: What each position asks for; d and d_v are multiples of 8.
        key: What each position offers.
        value: What each position hands over.
        scale: Factor on the scores.
        is_causal: Whether query i sees only the keys 0 to i.
        tilings: How to cut the work; None looks them up.
        tile: What accumulates one tile of keys: `flash_forward_tile`, or a learner's.
        extras: What else hides keys or changes scores, with the spans of the queries.
    """
    out = query.new_empty(*query.shape[:-1], value.shape[-1])
    lse = torch.empty(query.shape[:3], device=query.device)
    if not query.numel() or not key.numel():
        return out.zero_(), lse.fill_(-torch.inf)
    query, key, value = (_aligned(x) for x in (query, key, value))
    cut = (tilings or _tilings(query, value, extras)).forward
    with _on(query):
        kernels.forward_kernel[_grid(query, cut.block_q)](
            *_tiles(cut.block_q, query), *_tiles(cut.block_k, key, value),
            *_tiles(cut.block_q, out), lse, *_numbers(query, key, scale, is_causal, extras), tile,
            **_options(cut, query, value),
        )  # fmt: skip
    return out, lse


def flash_backward(
    query: Float[Tensor, "B H L d"],
    key: Float[Tensor, "B H_kv S d"],
    value: Float[Tensor, "B H_kv S d_v"],
    out: Float[Tensor, "B H L d_v"],
    lse: Float[Tensor, "B H L"],
    grad_out: Float[Tensor, "B H L d_v"],
    scale: float,
    is_causal: bool = False,
    tilings: Tilings | None = None,
    extras: Extras = NOTHING,
    key_spans: Int[Tensor, "2 S"] | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the gradients of query, key and value.

    It takes what `flash_forward` took, the out and lse that it returned, and grad_out, the loss's
    slope in each entry of the output. `key_spans` are the forward pass's spans the other way round:
    which queries see each key.
    """
    dq, dk, dv = (torch.empty(x.shape, dtype=x.dtype, device=x.device) for x in (query, key, value))
    if not query.numel() or not key.numel():
        return dq.zero_(), dk.zero_(), dv.zero_()
    query, key, value, grad_out = (_aligned(x) for x in (query, key, value, grad_out))
    delta = torch.empty_like(lse)
    _, cut, other = tilings or _tilings(query, value, extras)
    numbers = partial(_numbers, query, key, scale, is_causal)
    with _on(query):
        kernels.backward_query_kernel[_grid(query, cut.block_q)](
            *_tiles(cut.block_q, query), *_tiles(cut.block_k, key, value),
            *_tiles(cut.block_q, out, grad_out, dq), lse, delta, *numbers(extras),
            **_options(cut, query, value),
        )  # fmt: skip
        kernels.backward_key_value_kernel[_grid(key, other.block_k)](
            *_tiles(other.block_q, query), *_tiles(other.block_k, key, value),
            *_tiles(other.block_q, grad_out), *_tiles(other.block_k, dk, dv), lse, delta,
            *numbers(extras._replace(spans=key_spans)), **_options(other, query, value),
        )  # fmt: skip
    return dq, dk, dv


def _on(tensor: Tensor) -> AbstractContextManager[Any]:
    """Return where the kernels run: on the tensor's own GPU, or in the interpreter."""
    return torch.cuda.device(tensor.device) if tensor.is_cuda else interpreter()


def _grid(tensor: Tensor, block: int) -> tuple[int, int, int]:
    """One program per tile of rows, head and sequence."""
    batch, heads, length, _ = tensor.shape
    return -(-length // block), heads, batch


def _numbers(
    query: Tensor, key: Tensor, scale: float, is_causal: bool, extras: Extras
) -> tuple[Any, ...]:
    """Return what every kernel is passed in addition to its tensors, and its compile options."""
    group = query.shape[1] // key.shape[1]
    return scale, query.shape[2], key.shape[2], extras, group, is_causal, mod_of(extras)


def _tiles(rows: int, *tensors: Tensor) -> list[Any]:
    """Return descriptors by which a kernel reads or writes some rows of a head at once."""
    return [TensorDescriptor.from_tensor(x, [1, 1, rows, _padded(x)]) for x in tensors]


def _padded(tensor: Tensor) -> int:
    """Return the width of a tile: a power of 2, and what the tensor lacks is filled with zeros."""
    return max(16, 1 << (tensor.shape[-1] - 1).bit_length())


def _options(cut: Tiling, query: Tensor, value: Tensor) -> dict[str, int]:
    tile = {"BLOCK_Q": cut.block_q, "BLOCK_K": cut.block_k, "D": _padded(query)}
    tile |= {"D_V": _padded(value), "num_warps": cut.num_warps, "num_stages": cut.num_stages}
    return tile


def _aligned(tensor: Tensor) -> Tensor:
    """Return the tensor as a GPU's copy engine takes it: rows apart by multiples of 16 bytes."""
    *apart, last = tensor.stride()
    steps = [step * tensor.itemsize for step in apart] + [tensor.data_ptr()]
    if last == 1 and min(apart) > 0 and not any(step % 16 for step in steps):
        return tensor
    return tensor.clone(memory_format=torch.contiguous_format)
