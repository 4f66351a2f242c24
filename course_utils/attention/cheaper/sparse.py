"""Fixed sparse patterns, and attention that computes only the blocks that a pattern touches.

Source: Child et al. 2019, Generating Long Sequences with Sparse Transformers, section 4.3,
    https://arxiv.org/abs/1904.10509; block-sparse products as in section 5.5
Ours / theirs: stride, block = l;  summary = c;  a mask joins A^(1) and A^(2), the two heads' sets
Differs: positions count from 0. A pattern alone saves nothing: the saving is in not computing what
    it hides, which is what `block_sparse_attention` does.
Same contract as: BlockMask of torch.nn.attention.flex_attention, for the blocks that are skipped
"""

from collections.abc import Iterator

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn import functional as F

from course_utils.attention.core.chunks import joined
from course_utils.validation import check_at_least, check_mask, check_query_key_value


def strided_mask(num_positions: int, stride: int) -> Bool[Tensor, "L L"]:
    """Return the causal mask of the last `stride` keys, and of every stride-th key before.

    Args:
        num_positions: How many positions there are.
        stride: A query i sees key j where i - j < stride, or where stride divides i - j.
    """
    check_at_least(1, stride=stride)
    check_at_least(0, num_positions=num_positions)
    place = torch.arange(num_positions)
    back = place.unsqueeze(-1) - place
    return (back >= 0) & ((back < stride) | (back % stride == 0))


def fixed_mask(num_positions: int, block: int, summary: int) -> Bool[Tensor, "L L"]:
    """Return the causal mask of the query's own block, and of the last keys of every block.

    Args:
        num_positions: How many positions there are.
        block: How many positions make a block.
        summary: How many positions at the end of a block all later positions see.

    Raises:
        ValueError: summary is not from 0 to block.
    """
    check_at_least(1, block=block)
    check_at_least(0, num_positions=num_positions, summary=summary)
    if summary > block:
        raise ValueError(f"summary must be at most block = {block}, got {summary}")
    place = torch.arange(num_positions)
    own = place.unsqueeze(-1)
    same_block = own // block == place // block
    return (place <= own) & (same_block | (place % block >= block - summary))


def block_sparse_attention(
    query: Float[Tensor, "*batch L d_k"],
    key: Float[Tensor, "*batch S d_k"],
    value: Float[Tensor, "*batch S d_v"],
    attn_mask: Bool[Tensor, "L S"],
    block: int,
) -> Float[Tensor, "*batch L d_v"]:
    """Return masked attention, computed only for the blocks of the mask that are not empty.

    A run of `block` queries gathers the key blocks that it sees and attends to those alone. The
    work is that of the blocks touched: a pattern of single entries, spread over all blocks, saves
    nothing. The mask itself has L × S entries, of one byte, for all sequences and heads.

    Args:
        query: What each position asks for.
        key: What each position offers.
        value: What each position hands over.
        attn_mask: True where a query may attend, the same for all leading axes.
        block: How many queries and how many keys make a block.
    """
    check_query_key_value(query, key, value)
    check_at_least(1, block=block)
    shape = torch.Size((query.shape[-2], key.shape[-2]))
    check_mask(attn_mask, shape)
    parts = _rows(query, key, value, attn_mask.expand(shape), block)
    return joined(parts, shape[0], query, key, value)


def _rows(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor, block: int
) -> Iterator[Tensor]:
    keys, values = key.split(block, -2), value.split(block, -2)
    for run, row in zip(query.split(block, -2), attn_mask.split(block, -2), strict=True):
        seen = _blocks_seen(row, block) or [0]
        near, own = (torch.cat([tiles[i] for i in seen], -2) for tiles in (keys, values))
        mask = torch.cat([row[:, i * block : (i + 1) * block] for i in seen], -1)
        yield F.scaled_dot_product_attention(run, near, own, attn_mask=mask)


def _blocks_seen(row: Tensor, block: int) -> list[int]:
    seen = F.pad(row.any(dim=0), (0, -row.shape[1] % block)).view(-1, block).any(dim=1)
    return seen.nonzero().flatten().tolist()
