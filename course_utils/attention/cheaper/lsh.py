"""Attention inside hash buckets: compare a query only with keys that probably match it.

Source: Kitaev, Kaiser and Levskaya 2020, Reformer: The Efficient Transformer, section 2,
    https://arxiv.org/abs/2001.04451
Ours / theirs: rotations = R, one (d, n/2) matrix for each round;  query = the shared queries and
    keys;  reach = m, the length of a chunk
Differs: causal. A query sees the last `reach` keys of its bucket; theirs, what is in its own
    chunk of the sorted sequence or the one before, and where chunks begin depends on later tokens.
    A key that several rounds find counts in each (theirs divides by how often). The hash is x·R
    for a given R, whose cost grows with the number of buckets.
Same contract as: softmax over the keys that a round finds; rounds weighted by their sums of exp
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from course_utils.validation import (
    check_at_least,
    check_float,
    check_query_key_value,
    check_same_dtype,
)


def lsh_buckets(
    x: Float[Tensor, "*batch L d"], rotations: Float[Tensor, "d half"]
) -> Int[Tensor, "*batch L"]:
    """Return each vector's bucket: the nearest of the directions ±R; near vectors often share it.

    Args:
        x: Vectors; their lengths do not matter.
        rotations: Random directions as columns, half as many as there are buckets.
    """
    check_float("... length width", x=x)
    _check_rotations(rotations, x.shape[-1], 2)
    check_same_dtype(x=x, rotations=rotations)
    along = x @ rotations
    return torch.cat((along, -along), dim=-1).argmax(dim=-1)


def lsh_attention(
    query: Float[Tensor, "*batch L d_k"],
    value: Float[Tensor, "*batch L d_v"],
    rotations: Float[Tensor, "rounds d_k half"],
    reach: int,
) -> Float[Tensor, "*batch L d_v"]:
    """Return causal attention over the latest keys that share a bucket with the query.

    Keys are the queries, at length 1, which is also the scale. Sorted by bucket, the keys that a
    query may see are just before it. It sees itself only where it sees nothing else. Rounds are
    joined by how much each of them found.

    Args:
        query: What each position asks for, and offers.
        value: What each position hands over.
        rotations: Random directions for each round of hashing.
        reach: How many earlier keys of its bucket a query sees at most in a round.
    """
    check_query_key_value(query, query, value)
    _check_rotations(rotations, query.shape[-1], 3)
    check_same_dtype(query=query, rotations=rotations)
    check_at_least(1, reach=reach)
    leading = torch.broadcast_shapes(query.shape[:-2], value.shape[:-2])
    query, value = (x.expand(*leading, -1, -1) for x in (query, value))
    if query.shape[-2] == 0:
        return value.clone()
    found = [_one_round(query, value, rotation, reach) for rotation in rotations]
    outs, sizes = (torch.stack(parts) for parts in zip(*found, strict=True))
    return (torch.softmax(sizes, dim=0) * outs).sum(dim=0)


def _one_round(query: Tensor, value: Tensor, rotation: Tensor, reach: int) -> tuple[Tensor, Tensor]:
    """Return what one round of hashing finds, and the logarithm of how much it was."""
    length = query.shape[-2]
    buckets, order = lsh_buckets(query.detach(), rotation).sort(dim=-1, stable=True)
    q, v = (x.gather(-2, _wide(order, x)) for x in (query, value))
    buckets, fill = buckets.unsqueeze(-1), -length % reach
    chunks, own = (
        F.pad(x, (0, 0, 0, fill), value=-1).unflatten(-2, (-1, reach)) for x in (q, buckets)
    )
    keys, values, near = (
        F.pad(x, (0, 0, reach, fill), value=-1).unfold(-2, 2 * reach, reach).mT
        for x in (F.normalize(q, dim=-1), v, buckets)
    )
    row = torch.arange(reach, device=q.device).unsqueeze(-1)
    back = reach + row - torch.arange(2 * reach, device=q.device)
    hidden = (own != near.mT) | (back < 0) | (back > reach)
    scores = (chunks @ keys.mT).masked_fill(hidden, -torch.inf)
    # So low that it never counts next to another key, yet takes all the weight where there is none.
    scores = scores.masked_fill(back == 0, torch.finfo(scores.dtype).min / 2)
    size = scores.logsumexp(dim=-1, keepdim=True)
    out, size = (x.flatten(-3, -2) for x in ((scores - size).exp() @ values, size))
    place = order.argsort(dim=-1)
    return out.gather(-2, _wide(place, value)), size.gather(-2, place.unsqueeze(-1))


def _wide(index: Tensor, like: Tensor) -> Tensor:
    return index.unsqueeze(-1).expand(like.shape)


def _check_rotations(rotations: Tensor, width: int, axes: int) -> None:
    check_float(rotations=rotations)
    if rotations.dim() != axes or rotations.shape[-2] != width or 0 in rotations.shape:
        wanted = f"({width}, half)" if axes == 2 else f"(rounds, {width}, half)"
        raise ValueError(f"rotations must have the shape {wanted}, got {tuple(rotations.shape)}")
