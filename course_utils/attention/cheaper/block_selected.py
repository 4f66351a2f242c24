"""Attention that reads only selected blocks: each query its own block and the best few.

Source: Lu et al. 2025, MoBA: Mixture of Block Attention for Long-Context LLMs, Eq. 2 to 6,
    https://arxiv.org/abs/2502.13189
Ours / theirs: top_k = k - 1, since they count the query's own block among the selected
Differs: what is read is gathered for every query, where their kernel sorts queries by block. Yuan
    et al. 2025, Native Sparse Attention, https://arxiv.org/abs/2502.11089, choose likewise, and add
    two more branches and a learned pooling.
Same contract as: attention under the mask of `select_blocks(query, key, block, top_k + 1)`
"""

import math

import torch
from jaxtyping import Float
from torch import Tensor

from course_utils.validation import check_at_least, check_same_dtype, check_same_length


def block_selected_attention(
    query: Float[Tensor, "B H L d_k"],
    key: Float[Tensor, "B H L d_k"],
    value: Float[Tensor, "B H L d_v"],
    block: int,
    top_k: int,
) -> Float[Tensor, "B H L d_v"]:
    """Return causal attention in which each query sees its own block and `top_k` earlier ones.

    Every query and head chooses its own: the blocks whose mean key has the largest dot product
    with the query. One softmax runs over all keys that a query sees. The choice carries no
    gradient; what is chosen does.

    Args:
        query: What each position asks for.
        key: What each position offers.
        value: What each position hands over.
        block: How many keys a block has; the last one may be shorter.
        top_k: How many earlier blocks a query reads; all, if there are fewer.
    """
    check_same_dtype("B heads length width", query=query, key=key, value=value)
    check_same_length(query, key, value)
    if not query.shape[:2] == key.shape[:2] == value.shape[:2]:
        raise ValueError(
            "query, key and value must have the same batch and heads, "
            f"got {tuple(query.shape[:2])}, {tuple(key.shape[:2])} and {tuple(value.shape[:2])}"
        )
    check_at_least(1, block=block)
    check_at_least(0, top_k=top_k)
    # Earlier blocks are always whole: no query has a short last one in its past.
    whole = query.shape[2] // block
    past = [x[:, :, : whole * block].unflatten(2, (whole, block)) for x in (key, value)]
    means = past[0].detach().mean(3)
    parts = [value[:, :, :0]]
    for number, start in enumerate(range(0, query.shape[2], block)):
        asked, *own = (x[:, :, start : start + block] for x in (query, key, value))
        relevance = asked.detach() @ means[:, :, :number].mT
        best = relevance.topk(min(top_k, number), dim=-1).indices
        parts.append(_attend(asked, own, [_picked(x, best) for x in past]))
    return torch.cat(parts, dim=2)


def _picked(blocks: Tensor, best: Tensor) -> Tensor:
    """Return the keys or values of each query's blocks side by side: (B, H, rows, k · block, d)."""
    batch, heads = (torch.arange(n, device=best.device) for n in best.shape[:2])
    return blocks[batch[:, None, None, None], heads[:, None, None], best].flatten(3, 4)


def _attend(query: Tensor, own: list[Tensor], picked: list[Tensor]) -> Tensor:
    """Return attention of a block's queries to their picked keys and, causally, to the block."""
    asked = query / math.sqrt(query.shape[-1])
    far = (picked[0] @ asked.unsqueeze(-1)).squeeze(-1)
    near = asked @ own[0].mT
    later = torch.ones_like(near, dtype=torch.bool).triu(1)
    weights = torch.cat((far, near.masked_fill(later, -torch.inf)), dim=-1).softmax(dim=-1)
    taken, kept = weights.tensor_split((far.shape[-1],), dim=-1)
    return (taken.unsqueeze(-2) @ picked[1]).squeeze(-2) + kept @ own[1]
