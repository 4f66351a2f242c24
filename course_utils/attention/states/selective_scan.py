"""The selective scan: a linear recurrence in each channel whose step size comes from the token.

Source: Gu and Dao 2023, Mamba: Linear-Time Sequence Modeling with Selective State Spaces, Eq. 2 and
    Algorithm 2, https://arxiv.org/abs/2312.00752
Ours / theirs: delta = Δ, positive already;  x, A, B, C, D as theirs
Differs: axes (batch, L, d), where their code has (batch, d, L); no gate z and no softplus inside
Same contract as: Mamba's own rule, exact for A and Euler's for B
"""

import math

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from course_utils.validation import check_same_dtype, check_shape


def selective_scan(
    x: Float[Tensor, "batch L d"],
    delta: Float[Tensor, "batch L d"],
    A: Float[Tensor, "d n"],
    B: Float[Tensor, "batch L n"],
    C: Float[Tensor, "batch L n"],
    D: Float[Tensor, " d"],
) -> Float[Tensor, "batch L d"]:
    """Return y_t = h_t C_t + D ∘ x_t, token by token, where every channel keeps n numbers h.

    h_t = exp(delta_t A) ∘ h_(t-1) + (delta_t ∘ x_t) B_tᵀ, and h is 0 before the first token.

    Args:
        x: One number for each channel and token.
        delta: The step size: near 0 a token changes nothing, a large one forgets the past.
        A: How fast each number of the state fades: below 0.
        B: How strongly a token is written into each of the n.
        C: How strongly each of the n is read.
        D: What of x goes straight to the output.
    """
    _check(x, delta, A, B, C, D)
    state = x.new_zeros(x.shape[0], *A.shape)
    out = []
    for u, step, write, read in zip(*(part.unbind(1) for part in (x, delta, B, C)), strict=True):
        keep = (step.unsqueeze(-1) * A).exp()
        state = keep * state + (step * u).unsqueeze(-1) * write.unsqueeze(-2)
        out.append((state @ read.unsqueeze(-1)).squeeze(-1))
    return torch.stack(out, 1) + D * x


def chunked_selective_scan(
    x: Float[Tensor, "batch L d"],
    delta: Float[Tensor, "batch L d"],
    A: Float[Tensor, "d n"],
    B: Float[Tensor, "batch L n"],
    C: Float[Tensor, "batch L n"],
    D: Float[Tensor, " d"],
) -> Float[Tensor, "batch L d"]:
    """Return the same: all chunks scan their own tokens in parallel, then pass their states on.

    A chunk's first scan starts from nothing. Its products of exp(delta A), which only shrink, say
    how much of the incoming state is left at each of its tokens. About 2 √L steps replace L.

    Arguments and errors are as in `selective_scan`.
    """
    _check(x, delta, A, B, C, D)
    length = x.shape[1]
    rows = math.isqrt(length)
    spare = -length % rows  # tokens of step size 0 at the end change nothing
    u, step, write, read = (
        F.pad(part, (0, 0, 0, spare)).unflatten(1, (-1, rows)) for part in (x, delta, B, C)
    )
    keep = (step.unsqueeze(-1) * A).exp()
    added = (step * u).unsqueeze(-1) * write.unsqueeze(-2)
    own, left = [added[:, :, 0]], [keep[:, :, 0]]
    for one, new in zip(keep.unbind(2)[1:], added.unbind(2)[1:], strict=True):
        own.append(torch.addcmul(new, one, own[-1]))
        left.append(one * left[-1])
    handed = [x.new_zeros(x.shape[0], *A.shape)]
    for end, over in zip(own[-1].unbind(1)[:-1], left[-1].unbind(1)[:-1], strict=True):
        handed.append(torch.addcmul(end, over, handed[-1]))
    before = torch.stack(handed, 1)
    states = [torch.addcmul(mine, over, before) for mine, over in zip(own, left, strict=True)]
    out = [(h @ c.unsqueeze(-1)).squeeze(-1) for h, c in zip(states, read.unbind(2), strict=True)]
    return torch.stack(out, 2).flatten(1, 2)[:, :length] + D * x


def _check(x: Tensor, delta: Tensor, A: Tensor, B: Tensor, C: Tensor, D: Tensor) -> None:
    check_same_dtype("batch L width", x=x, delta=delta, B=B, C=C)
    check_same_dtype("d n", A=A)
    check_same_dtype(x=x, A=A, D=D)
    batch, length, width = x.shape
    if not length:
        raise ValueError("there must be at least one token, got none")
    check_shape((batch, length, width), delta=delta)
    check_shape((width, A.shape[1]), A=A)
    check_shape((batch, length, A.shape[1]), B=B, C=C)
    check_shape((width,), D=D)
