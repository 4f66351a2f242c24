"""Attention of some queries over one block of keys, and its gradients.

On a CPU torch's own kernel does both: it returns the logsumexp too, which
`F.scaled_dot_product_attention` does not.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

CPU = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default
CPU_BACKWARD = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward.default


@dataclass(frozen=True)
class Block:
    """Queries and keys of a block that are multiplied, and which of these pairs are masked."""

    rows: Tensor
    keys: Tensor
    is_causal: bool = False  # square, and pair (i, j) is visible where j <= i
    mask: Tensor | None = None


def visible_block(query_positions: Tensor, key_positions: Tensor, is_causal: bool) -> Block | None:
    """Return which part of a block is multiplied; None where no query sees a key."""
    if not is_causal:
        return Block(torch.arange(len(query_positions)), torch.arange(len(key_positions)))
    rows = (query_positions >= key_positions.min()).nonzero().squeeze(-1)
    keys = (key_positions <= query_positions.max()).nonzero().squeeze(-1)
    if not len(rows):
        return None
    asking, asked = query_positions[rows], key_positions[keys]
    if asking.min() >= asked.max():
        return Block(rows, keys)
    seen = torch.searchsorted(asked.sort().values, asking, right=True)  # how many, of each query
    is_sorted = bool((asked.diff() > 0).all())
    if is_sorted and torch.equal(seen, torch.arange(1, len(asked) + 1)):
        return Block(rows, keys, is_causal=True)
    return Block(rows, keys, mask=asked <= asking.unsqueeze(-1))


def attend(query: Tensor, key: Tensor, value: Tensor, block: Block) -> tuple[Tensor, Tensor]:
    """Return output and logsumexp of the block's rows; key and value have the query's heads."""
    if _has_kernel(query, value):
        given = (query, key, value, 0.0, block.is_causal)
        out, lse = CPU(*given, attn_mask=block.mask)
        return out, lse
    scores = _scores(query, key, block)
    return scores.softmax(-1).to(value.dtype) @ value, scores.logsumexp(-1)


def attend_backward(
    grad_out: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    out: Tensor,
    lse: Tensor,
    block: Block,
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the block's share of the gradients, from output and logsumexp over *all* blocks."""
    if _has_kernel(query, value):
        given = (grad_out, query, key, value, out, lse)
        grads = CPU_BACKWARD(*given, 0.0, block.is_causal, attn_mask=block.mask)
        return grads[0], grads[1], grads[2]
    weights = (_scores(query, key, block) - lse.unsqueeze(-1)).exp().to(query.dtype)
    shared = (grad_out * out).sum(-1, keepdim=True)
    grad_scores = weights * (grad_out @ value.mT - shared) / math.sqrt(query.shape[-1])
    return grad_scores @ key, grad_scores.mT @ query, weights.mT @ grad_out


def _has_kernel(query: Tensor, value: Tensor) -> bool:
    return query.device.type == "cpu" and query.shape[-1] == value.shape[-1]


def _scores(query: Tensor, key: Tensor, block: Block) -> Tensor:
    wide = torch.promote_types(query.dtype, torch.float32)
    scores = (query @ key.mT).to(wide) / math.sqrt(query.shape[-1])
    hidden = block.mask
    if block.is_causal:
        hidden = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).tril()
    return scores if hidden is None else scores.masked_fill(~hidden, -torch.inf)
