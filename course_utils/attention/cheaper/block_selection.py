"""Learned block selection: each query reads its own block and those whose mean key suits it best.

Source: Lu et al. 2025, MoBA: Mixture of Block Attention for Long-Context LLMs, Eq. 3 to 6,
    https://arxiv.org/abs/2502.13189
Ours / theirs: num_selected = k, the query's own block included;  relevance = s
Differs: a mask, which says what is read but does not save the reading; that takes a kernel
Same contract as: causal attention, where no more blocks exist than are selected
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn import functional as F

from course_utils.attention.masks.causal import causal_mask
from course_utils.validation import check_at_least, check_query_key


def select_blocks(
    query: Float[Tensor, "*batch L d_k"],
    key: Float[Tensor, "*batch L d_k"],
    block: int,
    num_selected: int,
) -> Bool[Tensor, "*batch L L"]:
    """Return the mask of what each query reads: True may attend.

    Nothing in it is learned separately: queries and keys learn what to select through the
    attention that the mask leaves them, since the choice itself has no gradient.

    Args:
        query: What each position asks for.
        key: What each position offers.
        block: How many keys a block has.
        num_selected: How many blocks a query reads, its own among them.
    """
    check_query_key(query, key)
    check_at_least(1, block=block, num_selected=num_selected)
    length = query.shape[-2]
    if key.shape[-2] != length:
        raise ValueError(f"query and key must have the same length, got {length}, {key.shape[-2]}")
    own = torch.arange(length, device=query.device) // block
    blocks = -(-length // block)
    means = F.pad(key.detach(), (0, 0, 0, -length % block)).unflatten(-2, (blocks, block)).mean(-2)
    relevance = query.detach() @ means.mT
    number = torch.arange(blocks, device=query.device)
    relevance = relevance.masked_fill(number > own[:, None], -torch.inf)
    relevance = relevance.masked_fill(number == own[:, None], torch.inf)
    best = relevance.topk(min(num_selected, blocks), dim=-1).indices
    selected = torch.zeros_like(relevance, dtype=torch.bool).scatter(-1, best, True)
    return selected[..., own] & causal_mask(length, length).to(query.device)
