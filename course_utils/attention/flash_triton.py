"""Attention by Triton kernels, forward and backward, as one function that autograd knows.

On a CUDA device the kernels are compiled; on a CPU the same source runs in Triton's interpreter,
slowly, but every number can be looked at. Triton may be missing until the function is called.

Source: Dao 2023, FlashAttention-2, https://arxiv.org/abs/2307.08691
Ours / theirs: as in `flash_kernels`, which holds the kernels; `flash_launch` hands them the tensors
Differs: no dropout, no mask but the causal one, value as wide as key.
Same contract as: torch.nn.functional.scaled_dot_product_attention with `enable_gqa=True`, causal
    aligned top-left: query i sees the keys 0 to i, whatever the two lengths
"""

import math
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

from course_utils.attention.flash_launch import flash_backward, flash_forward
from course_utils.triton_interpreter import require_triton
from course_utils.validation import check_instance

DTYPES = (torch.float16, torch.bfloat16, torch.float32)
MAX_WIDTH = 128


def flash_attention(
    query: Float[Tensor, "B H L d"],
    key: Float[Tensor, "B H_kv S d"],
    value: Float[Tensor, "B H_kv S d"],
    is_causal: bool = False,
) -> Float[Tensor, "B H L d"]:
    """Return softmax(query keyᵀ/√d) value without ever storing the scores.

    Args:
        query: What each position asks for; at most 128 wide, float16, bfloat16 or float32.
        key: What each position offers. H_kv divides H: query head h reads head h // (H // H_kv).
        value: What each position hands over, as wide as the keys.
        is_causal: Whether query i sees only the keys 0 to i.

    Raises:
        ImportError: Triton is not installed.
        TypeError: The dtypes differ or have no kernel, or neither a GPU nor a CPU holds the data.
        ValueError: Sizes do not fit together, or the width exceeds 128.
    """
    _check(query, key, value)
    check_instance(bool, is_causal=is_causal)
    require_triton()
    width, dtype = query.shape[-1], query.dtype
    if dtype == torch.bfloat16 and not query.is_cuda:
        # Triton's interpreter computes wrong numbers in bfloat16, without a word.
        query, key, value = query.float(), key.float(), value.float()
    if width % 8:
        query, key, value = (F.pad(x, (0, -width % 8)) for x in (query, key, value))
    scale = 1.0 / math.sqrt(width)
    out: Tensor = _Flash.apply(query, key, value, scale, is_causal)  # type: ignore[no-untyped-call]
    return out[..., :width].to(dtype)


class _Flash(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, query: Tensor, key: Tensor, value: Tensor, scale: float, is_causal: bool
    ) -> Tensor:
        out, lse = flash_forward(query, key, value, scale, is_causal)
        ctx.save_for_backward(query, key, value, out, lse)
        ctx.scale, ctx.is_causal = scale, is_causal
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_out: Tensor) -> tuple[Tensor | None, ...]:
        query, key, value, out, lse = ctx.saved_tensors
        given = (query, key, value, out, lse, grad_out, ctx.scale, ctx.is_causal)
        return *flash_backward(*given), None, None


def _check(query: Tensor, key: Tensor, value: Tensor) -> None:
    named = {"query": query, "key": key, "value": value}
    for name, tensor in named.items():
        if not isinstance(tensor, Tensor) or tensor.dtype not in DTYPES:
            got = tensor.dtype if isinstance(tensor, Tensor) else type(tensor).__name__
            raise TypeError(f"{name} must be float16, bfloat16 or float32, got {got}")
        if tensor.dtype != query.dtype or tensor.device != query.device:
            raise TypeError(
                f"{name} must have query's dtype and device, {query.dtype} on {query.device}, "
                f"got {tensor.dtype} on {tensor.device}"
            )
        if tensor.dim() != 4:
            raise ValueError(f"{name} must have 4 axes (B, H, length, d), got {tensor.dim()}")
    if query.device.type not in ("cuda", "cpu"):
        raise TypeError(f"the kernels run on cuda or on the cpu, got tensors on {query.device}")
    shapes = ", ".join(f"{name} {tuple(tensor.shape)}" for name, tensor in named.items())
    batch, heads, _, width = query.shape
    if key.shape != value.shape or (key.shape[0], key.shape[3]) != (batch, width):
        raise ValueError(f"key and value must have query's B and d, and one shape, got {shapes}")
    if not 1 <= width <= MAX_WIDTH:
        raise ValueError(f"d must be from 1 to {MAX_WIDTH}, got {width}")
    if key.shape[1] < 1 or heads % key.shape[1]:
        raise ValueError(f"the heads of key and value must divide those of query, got {shapes}")
