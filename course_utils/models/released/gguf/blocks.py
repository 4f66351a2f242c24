"""Weights in blocks that share a scale: what a quantised file holds, and how it is made.

Source: the formats Q4_1 and Q8_0 of ggml, ggml-common.h and ggml-quants.c of
    https://github.com/ggml-org/ggml
Ours / theirs: scale, low = d, m
Differs: `quantize_blocks` takes any number of bits and any block, and packs nothing
Same contract as: gguf.dequantize, to the last bit
"""

import torch
from jaxtyping import Float, UInt8
from torch import Tensor

from course_utils.validation import check_at_least, check_float, check_tensor

BLOCK = 32  # neighbours that share a scale, in both formats
Q4_1_BYTES = 2 + 2 + BLOCK // 2
Q8_0_BYTES = 2 + BLOCK


def dequantize_q4_1(blocks: UInt8[Tensor, "n 20"]) -> Float[Tensor, "n 32"]:
    """Return the weights of blocks of four bits each: d·q + m, in float32.

    Args:
        blocks: Of each, two bytes of d and two of m as float16, then 16 bytes: the low four bits of
            byte j are weight j's q, its high four bits weight (16 + j)'s.

    Raises:
        TypeError: The blocks are not bytes.
        ValueError: They do not have 20 bytes each.
    """
    _check_blocks(blocks, Q4_1_BYTES)
    scale, low = _halves(blocks[:, :4]).split(1, dim=1)
    pairs = blocks[:, 4:]
    return torch.cat((pairs & 15, pairs >> 4), dim=1).float() * scale + low


def dequantize_q8_0(blocks: UInt8[Tensor, "n 34"]) -> Float[Tensor, "n 32"]:
    """Return the weights of blocks of eight bits each: d·q, in float32.

    Args:
        blocks: Of each, two bytes of d as float16, then 32 signed bytes.

    Raises:
        TypeError: The blocks are not bytes.
        ValueError: They do not have 34 bytes each.
    """
    _check_blocks(blocks, Q8_0_BYTES)
    return blocks[:, 2:].contiguous().view(torch.int8).float().mul_(_halves(blocks[:, :2]))


def quantize_blocks(
    x: Float[Tensor, "*leading d"], bits: int, block: int
) -> tuple[
    UInt8[Tensor, "*leading d"],
    Float[Tensor, "*leading blocks"],
    Float[Tensor, "*leading blocks"],
]:
    """Round numbers to 2^bits levels between the least and the largest of their block.

    Args:
        x: Finite numbers.
        bits: From 1 to 8.
        block: How many neighbours share a scale; it divides d.

    Returns:
        The levels q from 0 to 2^bits - 1; each block's scale, 1 where all its numbers are equal;
        its least number. So |q·scale + low - x| is at most half a scale.

    Raises:
        TypeError: The numbers are not floating, or bits or block is not an int.
        ValueError: There are not 1 to 8 bits, or the block does not divide d.
    """
    check_float(x=x)
    check_at_least(1, bits=bits)
    check_at_least(2, block=block)
    if bits > 8:
        raise ValueError(f"bits must be at most 8, got {bits}")
    if not x.ndim or x.shape[-1] % block:
        raise ValueError(f"block must divide the last axis, got {block} and {tuple(x.shape)}")
    parts = x.unflatten(-1, (-1, block))
    low, high = parts.amin(-1), parts.amax(-1)
    scale = (high - low) / (2**bits - 1)
    scale = torch.where(high > low, scale, 1.0)
    levels = ((parts - low.unsqueeze(-1)) / scale.unsqueeze(-1)).round()
    return levels.clamp(0, 2**bits - 1).to(torch.uint8).flatten(-2), scale, low


def _halves(pairs: Tensor) -> Tensor:
    """Return numbers of two bytes each as float32."""
    return pairs.contiguous().view(torch.float16).float()


def _check_blocks(blocks: Tensor, size: int) -> None:
    check_tensor(blocks=blocks)
    if blocks.dtype != torch.uint8:
        raise TypeError(f"blocks must be bytes (torch.uint8), got {blocks.dtype}")
    if blocks.ndim != 2 or blocks.shape[1] != size:
        raise ValueError(f"blocks must have the axes (n, {size}), got {tuple(blocks.shape)}")
