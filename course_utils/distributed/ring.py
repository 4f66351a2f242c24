"""Ring attention: each rank keeps its queries, and the blocks of keys and values go around.

Source: Liu, Zaharia, Abbeel 2023, Ring Attention with Blockwise Transformers, algorithm 1,
    https://arxiv.org/abs/2310.01889; blocks joined by their logsumexp as in FlashAttention-2,
    https://arxiv.org/abs/2307.08691
Ours / theirs: rank = host; begin = start to send to the next host and to receive from the previous
    one; finish = wait until both are done
Same contract as: causal attention in one process, with the rows split over the ranks
"""

import math
from collections.abc import Callable

import torch
from jaxtyping import Float, Int
from torch import Tensor

from course_utils.attention.tiled.online_softmax import merge_partials
from course_utils.plain_validation import check_at_least, check_callable
from course_utils.validation import (
    check_integers,
    check_query_key_value,
    check_same_dtype,
    check_same_length,
    check_shape,
)

Finish = Callable[[], tuple[Tensor, Tensor]]
Begin = Callable[[Tensor, Tensor], Finish]


def ring_schedule(world_size: int, rank: int) -> list[int]:
    """Return whose block `rank` holds at each step, its own first."""
    check_at_least(1, world_size=world_size)
    check_at_least(0, rank=rank)
    if rank >= world_size:
        raise ValueError(f"rank must be less than {world_size}, got {rank}")
    return [(rank - step) % world_size for step in range(world_size)]


def ring_attention_step(
    out: Float[Tensor, "B H L d_v"],
    lse: Float[Tensor, "B H L"],
    query: Float[Tensor, "B H L d_k"],
    key: Float[Tensor, "B H S d_k"],
    value: Float[Tensor, "B H S d_v"],
    query_positions: Int[Tensor, " L"],
    key_positions: Int[Tensor, " S"],
) -> tuple[Float[Tensor, "B H L d_v"], Float[Tensor, "B H L"]]:
    """Return attention over all blocks so far, plus one more block of keys.

    Query i sees key j where `key_positions[j] <= query_positions[i]`. Only queries that see some
    key of the block are multiplied, and only with keys that some query sees.

    Args:
        out: Attention over the blocks before; starts at zeros.
        lse: The logsumexp of their scores; starts at -inf.
        query: This rank's queries.
        key: The block's keys.
        value: The block's values.
        query_positions: The queries' positions, in any order.
        key_positions: The keys' positions, in any order.
    """
    check_query_key_value(query, key, value)
    check_same_dtype(out=out, lse=lse, query=query)
    check_integers(query_positions=query_positions, key_positions=key_positions)
    check_shape((*query.shape[:-1], value.shape[-1]), out=out)
    check_shape(query.shape[:-1], lse=lse)
    check_shape(query.shape[-2:-1], query_positions=query_positions)
    check_shape(key.shape[-2:-1], key_positions=key_positions)
    visible = key_positions <= query_positions.unsqueeze(-1)
    rows = visible.any(dim=1).nonzero().squeeze(-1)
    keys = visible.any(dim=0).nonzero().squeeze(-1)
    if not len(rows):
        return out, lse
    scores = query[..., rows, :] @ key[..., keys, :].mT / math.sqrt(query.shape[-1])
    scores = scores.masked_fill(~visible[rows][:, keys], -torch.inf)
    part = scores.softmax(dim=-1) @ value[..., keys, :]
    merged = merge_partials(out[..., rows, :], lse[..., rows], part, scores.logsumexp(dim=-1))
    return out.index_copy(-2, rows, merged[0]), lse.index_copy(-1, rows, merged[1])


def ring_attention(
    query: Float[Tensor, "B H L d_k"],
    key: Float[Tensor, "B H L d_k"],
    value: Float[Tensor, "B H L d_v"],
    begin: Begin,
    rank: int,
    world_size: int,
) -> Float[Tensor, "B H L d_v"]:
    """Return one rank's rows of causal attention over the tokens of all ranks.

    Args:
        query: The queries of tokens rank · L to rank · L + L - 1 of the text.
        key: Their keys.
        value: Their values.
        begin: Begins to send a block to the next rank, and returns a function that waits for the
            one that the previous rank held. What is computed between the two hides the transfer.
        rank: This rank's number.
        world_size: How many ranks there are.
    """
    check_same_length(query, key, value)
    check_callable(begin=begin)
    length = query.shape[-2]
    places = torch.arange(length, device=query.device)
    out = query.new_zeros(*query.shape[:-1], value.shape[-1])
    lse = query.new_full(query.shape[:-1], -torch.inf)
    for step, source in enumerate(ring_schedule(world_size, rank), 1):
        finish = begin(key, value) if step < world_size else None
        mine, theirs = rank * length + places, source * length + places
        out, lse = ring_attention_step(out, lse, query, key, value, mine, theirs)
        if finish is not None:
            key, value = finish()
    return out
