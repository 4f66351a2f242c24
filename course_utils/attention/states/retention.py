"""Retention: linear attention without a normaliser, whose past decays by a constant factor.

Source: Sun et al. 2023, Retentive Network: A Successor to Transformer for Large Language Models,
    Eq. 5 (parallel), 6 (recurrent) and 7 (chunkwise), https://arxiv.org/abs/2307.08621
Ours / theirs: decay = γ;  state = S;  decay^(n - m) below the diagonal = D
Differs: no rotation, no group norm and no gate, which the paper puts around it; the scores are
    divided by √d_k, as its code does
Same contract as: the three forms are one function
"""

import math

import torch
from jaxtyping import Float
from torch import Tensor

from course_utils.attention.core.chunks import ROWS, pieces
from course_utils.validation import check_same_dtype, check_shape


def retention_parallel(
    query: Float[Tensor, "B H L d_k"],
    key: Float[Tensor, "B H L d_k"],
    value: Float[Tensor, "B H L d_v"],
    decay: Float[Tensor, " H"],
) -> Float[Tensor, "B H L d_v"]:
    """Return Σ_{m≤n} decay^(n-m) · (q_n·k_m)/√d_k · v_m for each n, from one table of scores.

    Args:
        query: What each position asks for.
        key: What each position offers.
        value: What each position hands over.
        decay: How much of the past each head keeps from one token to the next: above 0, at most 1.
    """
    _check(query, key, value, decay)
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    return scores * _faded(decay, query.shape[-2]) @ value


def retention_recurrent(
    query: Float[Tensor, "B H L d_k"],
    key: Float[Tensor, "B H L d_k"],
    value: Float[Tensor, "B H L d_v"],
    decay: Float[Tensor, " H"],
) -> Float[Tensor, "B H L d_v"]:
    """Return the same, token by token: decay the state, add k vᵀ to it, read it with q.

    Arguments and errors are as in `retention_parallel`.
    """
    _check(query, key, value, decay)
    keep = decay[:, None, None]
    state = key.new_zeros(*key.shape[:2], key.shape[-1], value.shape[-1])
    out = []
    for q, k, v in pieces(1, query, key, value):
        state = keep * state + k.mT @ v
        out.append(q @ state / math.sqrt(query.shape[-1]))
    return torch.cat(out, dim=-2)


def retention_chunk(
    query: Float[Tensor, "B H T d_k"],
    key: Float[Tensor, "B H T d_k"],
    value: Float[Tensor, "B H T d_v"],
    decay: Float[Tensor, " H"],
    state: Float[Tensor, "B H d_k d_v"],
) -> tuple[Float[Tensor, "B H T d_v"], Float[Tensor, "B H d_k d_v"]]:
    """Return the same for tokens after a past, and the state that includes them.

    Inside a piece of the tokens the scores are a small table; what came before is the state. So a
    long chunk costs as much per token as a short one, and holds no larger table.

    The state is Σ decay^(last - m) k_m v_mᵀ over the past, zeros at the start. The other arguments
    and the errors are as in `retention_parallel`.
    """
    _check(query, key, value, decay)
    check_same_dtype("B H d_k d_v", query=query, state=state)
    check_shape((*key.shape[:2], key.shape[-1], value.shape[-1]), state=state)
    length = query.shape[-2]
    table, parts = _faded(decay, min(ROWS, length)), []
    for q, k, v in pieces(ROWS, query, key, value):
        rows = q.shape[-2]
        q = q / math.sqrt(q.shape[-1])
        ages = torch.arange(rows, device=q.device)
        since = decay[:, None, None] ** (ages + 1)[:, None]  # how far the past faded at each token
        until = decay[:, None, None] ** (rows - 1 - ages)[:, None]  # how far each token fades
        parts.append((q @ k.mT * table[..., :rows, :rows]) @ v + since * (q @ state))
        state = decay[:, None, None] ** rows * state + k.mT @ (until * v)
    return torch.cat(parts, dim=-2), state


def _faded(decay: Tensor, length: int) -> Tensor:
    """Return decay^(n - m) where m ≤ n, else 0; no power of a decay is ever divided by another."""
    place = torch.arange(length, device=decay.device)
    ages = (place[:, None] - place).clamp(min=0)
    return (decay[:, None, None] ** ages).tril()


def _check(query: Tensor, key: Tensor, value: Tensor, decay: Tensor) -> None:
    check_same_dtype("B H length width", query=query, key=key, value=value)
    check_same_dtype(query=query, decay=decay)
    check_shape(tuple(query.shape), key=key)
    check_shape((*query.shape[:3], value.shape[-1]), value=value)
    check_shape((query.shape[1],), decay=decay)
    if not (query.shape[-2] and query.shape[-1]):
        raise ValueError(
            "there must be at least one token, at least 1 wide, "
            f"got {query.shape[-2]}, {query.shape[-1]} wide"
        )
