"""Attention by Triton kernels, forward and backward, as one differentiable function.

On a CUDA device the kernels are compiled; on a CPU the same source runs in Triton's interpreter,
slowly, but every number can be looked at. Triton may be missing until the function is called.

Source: Dao 2023, FlashAttention-2, https://arxiv.org/abs/2307.08691
Ours / theirs: as in `kernels`, which holds the kernels; `launch` hands them tensors;
    cap, slopes, window = softcap, alibi_slopes, window_size of flash-attn
Differs: no dropout, no bias but the slopes, no mask but one interval of keys for each query.
Same contract as: torch.nn.functional.scaled_dot_product_attention with `enable_gqa=True`, causal
    aligned top-left: query i sees the keys 0 to i, whatever the two lengths. With offset = S - L,
    flash_attn_func, whose causality is aligned bottom-right
"""

import math
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

from course_utils.attention.tiled.flash.launch import flash_backward, flash_forward
from course_utils.attention.tiled.flash.mods import Extras
from course_utils.attention.tiled.flash.spans import Lengths, Window, visible_spans
from course_utils.triton_interpreter import require_triton
from course_utils.validation import check_float, check_instance, check_number, check_positive

DTYPES = (torch.float16, torch.bfloat16, torch.float32)
MAX_WIDTH = 256


def flash_attention(
    query: Float[Tensor, "B H L d_k"],
    key: Float[Tensor, "B H_kv S d_k"],
    value: Float[Tensor, "B H_kv S d_v"],
    is_causal: bool = False,
    *,
    scale: float | None = None,
    offset: int | Tensor = 0,
    window: Window | None = None,
    lengths: Lengths | None = None,
    cap: float | None = None,
    slopes: Float[Tensor, " H"] | None = None,
) -> Float[Tensor, "B H L d_v"]:
    """Return softmax(scale · query keyᵀ) value without ever storing the scores.

    Scores are scaled, capped, lowered by slope · distance, and hidden, in this order. A query that
    sees no key returns zeros.

    Args:
        query: What each position asks for; at most 256 wide, float16, bfloat16 or float32.
        key: What each position offers. H_kv divides H: query head h reads head h // (H // H_kv).
        value: What each position hands over, of any width.
        is_causal: Whether a query sees no key after its own.
        scale: Factor on the products; None is 1/√d_k.
        offset: Which key is the first query's own: S - L aligns the ends. With lengths, counted in
            each document; a tensor has a number for each.
        window: How many keys before its own and after it a query sees; None for no limit.
        lengths: How long the concatenated documents are; a query sees its own
            document only. Two tensors where the queries' lengths are not the keys'.
        cap: A score s becomes cap · tanh(s / cap).
        slopes: What each head takes off a score for each step from its own key; no gradient.

    Raises:
        ImportError: Triton is not installed.
        TypeError: The dtypes have no kernel, or the data is on neither a GPU nor a CPU.
        ValueError: The width exceeds 256.
    """
    _check(query, key, value)
    _check_options(query, is_causal, scale, cap, slopes)
    sees = None
    if window is not None or lengths is not None or type(offset) is not int or offset:
        between = query.shape[2], key.shape[2], is_causal
        sees = visible_spans(*between, offset, window, lengths, query.device)
    require_triton()
    dtype, (width, value_width) = query.dtype, (query.shape[-1], value.shape[-1])
    if dtype == torch.bfloat16 and not query.is_cuda:
        # Triton's interpreter silently computes wrong numbers in bfloat16.
        query, key, value = query.float(), key.float(), value.float()
    query, key, value = (_in_eights(x) for x in (query, key, value))
    scale = 1.0 / math.sqrt(width) if scale is None else float(scale)
    extras = Extras(slopes=None if slopes is None else slopes.float().contiguous(), cap=cap)
    if sees is not None:
        is_causal, extras = False, extras._replace(spans=sees.queries, places=sees.places)
    given = scale, is_causal, extras, None if sees is None else sees.keys
    # The columns of the values are independent, so there may be any number of them.
    parts = [_Flash.apply(query, key, x, *given) for x in value.split(MAX_WIDTH, dim=-1)]  # type: ignore[no-untyped-call]
    out = parts[0] if len(parts) == 1 else torch.cat(parts, -1)
    return out[..., :value_width].to(dtype)


class _Flash(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, query: Tensor, key: Tensor, value: Tensor, scale: float, is_causal: bool,
        extras: Extras, key_spans: Tensor | None,
    ) -> Tensor:  # fmt: skip
        out, lse = flash_forward(query, key, value, scale, is_causal, extras=extras)
        ctx.save_for_backward(query, key, value, out, lse)
        ctx.asked = scale, is_causal, None, extras, key_spans
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_out: Tensor) -> tuple[Tensor | None, ...]:
        given = *ctx.saved_tensors, grad_out, *ctx.asked
        return *flash_backward(*given), None, None, None, None


def _in_eights(x: Tensor) -> Tensor:
    """Return a tensor whose width is a multiple of 8: itself, or padded with zeros."""
    return F.pad(x, (0, -x.shape[-1] % 8)) if x.shape[-1] % 8 else x


def _check_options(
    query: Tensor, is_causal: bool, scale: float | None, cap: float | None, slopes: Tensor | None
) -> None:
    check_instance(bool, is_causal=is_causal)
    if scale is not None:
        check_number(scale=scale)
    if cap is not None:
        check_positive(cap=cap)
    if slopes is not None:
        check_float(slopes=slopes)
        if slopes.shape != query.shape[1:2] or slopes.device != query.device:
            raise ValueError(
                f"slopes must have the shape {tuple(query.shape[1:2])} on {query.device}, "
                f"got {tuple(slopes.shape)} on {slopes.device}"
            )
        if slopes.requires_grad:
            raise ValueError("slopes get no gradient from the kernels, got some that ask for one")


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
    if key.shape[:3] != value.shape[:3] or (key.shape[0], key.shape[3]) != (batch, width):
        raise ValueError(f"key must have query's B and d, value key's B, H and S, got {shapes}")
    if not 1 <= width <= MAX_WIDTH or not value.shape[3]:
        raise ValueError(f"d must be from 1 to {MAX_WIDTH}, d_v at least 1, got {shapes}")
    if key.shape[1] < 1 or heads % key.shape[1]:
        raise ValueError(f"the heads of key and value must divide those of query, got {shapes}")
