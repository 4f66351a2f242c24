"""Gated linear attention: each channel of the keys decays by a gate that the token computes.

Source: Yang et al. 2024, Gated Linear Attention Transformers with Hardware-Efficient Training,
    Eq. 3 (recurrent) and section 4.2 (in chunks), https://arxiv.org/abs/2312.06635
Ours / theirs: gate = α;  state = S
Differs: a table inside a chunk takes differences of sums of logarithms, so that no product of gates
    is ever divided by another
Same contract as: a loop of steps
"""

import torch
from jaxtyping import Float
from torch import Tensor

from course_utils.attention.core.chunks import pieces
from course_utils.attention.core.kernel import widened
from course_utils.validation import check_same_dtype, check_shape

_ROWS = 8  # a table of rows × rows × d_k numbers stays in the processor's cache


def gated_linear_step(
    query: Float[Tensor, "B H d_k"],
    key: Float[Tensor, "B H d_k"],
    value: Float[Tensor, "B H d_v"],
    gate: Float[Tensor, "B H d_k"],
    state: Float[Tensor, "B H d_k d_v"],
) -> tuple[Float[Tensor, "B H d_v"], Float[Tensor, "B H d_k d_v"]]:
    """Return what one token reads, and the state that it leaves: fade rows, write k vᵀ, read.

    Args:
        query: What the token asks for; no scale is applied.
        key: What it offers.
        value: What it hands over.
        gate: How much each channel of the keys keeps, from 0 to 1.
        state: What the past left; zeros at the start.
    """
    check_same_dtype("B H width", query=query, key=key, value=value, gate=gate)
    check_same_dtype(query=query, state=state)
    check_shape(tuple(query.shape), key=key, gate=gate)
    check_shape((*query.shape[:2], value.shape[-1]), value=value)
    check_shape((*query.shape, value.shape[-1]), state=state)
    state = gate.unsqueeze(-1) * state + key.unsqueeze(-1) * value.unsqueeze(-2)
    return (query.unsqueeze(-2) @ state).squeeze(-2), state


def gated_linear_attention(
    query: Float[Tensor, "B H L d_k"],
    key: Float[Tensor, "B H L d_k"],
    value: Float[Tensor, "B H L d_v"],
    gate: Float[Tensor, "B H L d_k"],
) -> Float[Tensor, "B H L d_v"]:
    """Return what every token of a sequence reads, in chunks, from a state of zeros.

    Arguments and errors are as in `gated_linear_step`, with an axis for the tokens, at least one.
    """
    check_same_dtype("B H L width", query=query, key=key, value=value, gate=gate)
    check_shape(tuple(query.shape), key=key, gate=gate)
    check_shape((*query.shape[:3], value.shape[-1]), value=value)
    if not query.shape[-2]:
        raise ValueError("there must be at least one token, got none")
    wide = [widened(x) for x in (query, key, value, gate)]
    state = wide[1].new_zeros(*key.shape[:2], key.shape[-1], value.shape[-1])
    parts = []
    for q, k, v, g in pieces(_ROWS, *wide):
        kept = g.clamp(min=torch.finfo(g.dtype).tiny).log().cumsum(-2)
        ages = (kept.unsqueeze(-2) - kept.unsqueeze(-3)).clamp(max=0.0)  # (rows, rows, d_k)
        scores = ((ages.exp() * k.unsqueeze(-3)) @ q.unsqueeze(-1)).squeeze(-1).tril()
        parts.append((scores @ v + (q * kept.exp()) @ state).to(query.dtype))
        last = kept[..., -1:, :]
        state = last.exp().mT * state + (k * (last - kept).exp()).mT @ v
    return torch.cat(parts, dim=-2)
