"""The gated delta rule: correct what the key already retrieves, instead of adding to it.

Source: Yang, Kautz, Hatamizadeh 2025, Gated Delta Networks, Eq. 10 (one token) and section 3.3 (in
    chunks), https://arxiv.org/abs/2412.06464; without a gate it is Schlag et al. 2021, Linear
    Transformers Are Secretly Fast Weight Programmers, Eq. 24, https://arxiv.org/abs/2102.11174
Ours / theirs: alpha = α, the gate;  beta = β, the strength of the write;  state = Sᵀ
Differs: no scale, and query and key are used as given: models normalise both to length 1 first; a
    chunk solves one triangular system, where the paper inverts its matrix
Same contract as: a loop of steps
"""

import torch
from jaxtyping import Float
from torch import Tensor

from course_utils.attention.core.chunks import ROWS, pieces
from course_utils.attention.core.kernel import widened
from course_utils.validation import check_same_dtype, check_shape


def gated_delta_step(
    query: Float[Tensor, "B H d_k"],
    key: Float[Tensor, "B H d_k"],
    value: Float[Tensor, "B H d_v"],
    alpha: Float[Tensor, "B H"],
    beta: Float[Tensor, "B H"],
    state: Float[Tensor, "B H d_k d_v"],
) -> tuple[Float[Tensor, "B H d_v"], Float[Tensor, "B H d_k d_v"]]:
    """Return what one token reads after its own write, and the state that it leaves.

    Args:
        query: What the token asks for.
        key: Where it writes.
        value: What the key should find from now on.
        alpha: How much of the past is kept, from 0 to 1.
        beta: How much of the difference is written, from 0 to 1.
        state: What the past left; zeros at the start.
    """
    check_same_dtype("B H width", query=query, key=key, value=value)
    _check(query, key, value, alpha, beta)
    check_same_dtype(query=query, state=state)
    check_shape((*query.shape, value.shape[-1]), state=state)
    faded = alpha[..., None, None] * state
    found = (key.unsqueeze(-2) @ faded).squeeze(-2)
    change = beta.unsqueeze(-1) * (value - found)
    state = faded + key.unsqueeze(-1) * change.unsqueeze(-2)
    return (query.unsqueeze(-2) @ state).squeeze(-2), state


def gated_delta_rule(
    query: Float[Tensor, "B H L d_k"],
    key: Float[Tensor, "B H L d_k"],
    value: Float[Tensor, "B H L d_v"],
    alpha: Float[Tensor, "B H L"],
    beta: Float[Tensor, "B H L"],
) -> Float[Tensor, "B H L d_v"]:
    """Return what every token of a sequence reads, in chunks, from a state of zeros.

    What a token writes depends on what the tokens of its chunk wrote before it, linearly: all of a
    chunk's writes solve one triangular system.

    Arguments and errors are as in `gated_delta_step`, with an axis for the tokens, at least one.
    """
    check_same_dtype("B H L width", query=query, key=key, value=value)
    _check(query, key, value, alpha, beta)
    if not query.shape[-2]:
        raise ValueError("there must be at least one token, got none")
    wide = [widened(x) for x in (query, key, value, alpha.unsqueeze(-1), beta.unsqueeze(-1))]
    state = wide[1].new_zeros(*key.shape[:2], key.shape[-1], value.shape[-1])
    parts = []
    for q, k, v, a, b in pieces(ROWS, *wide):
        kept = a.clamp(min=torch.finfo(a.dtype).tiny).log().cumsum(-2)
        causal = torch.ones(q.shape[-2], q.shape[-2], dtype=torch.bool, device=q.device).tril()
        faded = (kept - kept.mT).masked_fill(~causal, -torch.inf).exp()
        past = kept.exp()
        met = (b * (k @ k.mT) * faded).tril(-1)  # what each write finds of those before it
        change = torch.linalg.solve_triangular(
            met, b * (v - past * (k @ state)), upper=False, unitriangular=True
        )
        parts.append(((q @ k.mT * faded) @ change + past * (q @ state)).to(query.dtype))
        last = kept[..., -1:, :]
        state = last.exp() * state + (k * (last - kept).exp()).mT @ change
    return torch.cat(parts, dim=-2)


def _check(query: Tensor, key: Tensor, value: Tensor, alpha: Tensor, beta: Tensor) -> None:
    check_same_dtype(query=query, alpha=alpha, beta=beta)
    check_shape(tuple(query.shape), key=key)
    check_shape((*query.shape[:-1], value.shape[-1]), value=value)
    check_shape(tuple(query.shape[:-1]), alpha=alpha, beta=beta)
