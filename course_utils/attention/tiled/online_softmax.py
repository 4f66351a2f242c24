"""Softmax over keys that arrive a tile at a time, in memory that does not grow with their number.

Source: Milakov and Gimelshein 2018, Online normalizer calculation for softmax, algorithm 3,
    https://arxiv.org/abs/1805.02867; with values: Dao et al. 2022, FlashAttention, algorithm 1,
    https://arxiv.org/abs/2205.14135
Ours / theirs: m = m, the largest score so far;  l = d of Milakov, ℓ of Dao;  acc = O · ℓ;
    lse = L of FlashAttention-2, the logarithm of the sum of all exponentials, m + log l
Differs: acc is divided by l once, at the end, as in FlashAttention-2; Dao 2022 divides each time.
Same contract as: softmax(scores of all tiles side by side) @ (values of all tiles, stacked)
"""
# ruff: noqa: E741 (l is the papers' letter)

import torch
from jaxtyping import Float
from torch import Tensor

from course_utils.validation import check_float, check_same_dtype


def online_softmax_step(
    m: Float[Tensor, "*batch L"],
    l: Float[Tensor, "*batch L"],
    acc: Float[Tensor, "*batch L d_v"],
    scores: Float[Tensor, "*batch L T"],
    value: Float[Tensor, "*batch T d_v"],
) -> tuple[Float[Tensor, "*batch L"], Float[Tensor, "*batch L"], Float[Tensor, "*batch L d_v"]]:
    """Return m, l and acc after one more tile; the output is acc / l after the last.

    Args:
        m: The largest score of each query so far; starts at -inf.
        l: The sum of exp(score - m) so far; starts at 0.
        acc: The sum of exp(score - m) · value so far; starts at 0.
        scores: The tile's scores, scaled, and -inf where a query may not attend.
        value: The tile's values.
    """
    _check_step(m, l, acc, scores, value)
    m_new = torch.maximum(m, scores.amax(dim=-1))
    # A query that has seen nothing yet has m = -inf, and -inf - -inf would be NaN.
    shift = m_new.masked_fill(m_new == -torch.inf, 0.0)
    weights = torch.exp(scores - shift.unsqueeze(-1))
    shrink = torch.exp(m - shift)  # rescales the sums from the old m to the new
    l_new = shrink * l + weights.sum(dim=-1)
    return m_new, l_new, shrink.unsqueeze(-1) * acc + weights @ value


def merge_partials(
    out_a: Float[Tensor, "*batch L d_v"],
    lse_a: Float[Tensor, "*batch L"],
    out_b: Float[Tensor, "*batch L d_v"],
    lse_b: Float[Tensor, "*batch L"],
) -> tuple[Float[Tensor, "*batch L d_v"], Float[Tensor, "*batch L"]]:
    """Return attention over two sets of keys from attention over each of them.

    Args:
        out_a: Attention over the first keys. Ignored where `lse_a` is infinite, NaN included.
        lse_a: The logsumexp of the first keys' scores; -inf where a query saw none, or +inf, as
            FlashAttention-3 has it.
        out_b: Attention over the other keys.
        lse_b: The logsumexp of the other keys' scores.
    """
    _check_parts(out_a, lse_a, out_b, lse_b)
    lse_a, lse_b = (lse.masked_fill(lse == torch.inf, -torch.inf) for lse in (lse_a, lse_b))
    top = torch.maximum(lse_a, lse_b)
    empty = top == -torch.inf
    shift = top.masked_fill(empty, 0.0)
    out, total = torch.zeros_like(out_a), torch.zeros_like(lse_a)
    for part, lse in ((out_a, lse_a), (out_b, lse_b)):
        share = torch.exp(lse - shift)
        unseen = (lse == -torch.inf).unsqueeze(-1)
        out = out + share.unsqueeze(-1) * part.masked_fill(unseen, 0.0)
        total = total + share
    total = total.masked_fill(empty, 1.0)
    lse = (shift + total.log()).masked_fill(empty, -torch.inf)
    return out / total.unsqueeze(-1), lse


def _check_step(m: Tensor, l: Tensor, acc: Tensor, scores: Tensor, value: Tensor) -> None:
    check_float(m=m, l=l, acc=acc, scores=scores, value=value)
    check_same_dtype(m=m, scores=scores, value=value)
    fits = (
        acc.dim() >= 2
        and scores.dim() >= 2
        and scores.shape[-1] >= 1
        and m.shape == l.shape == acc.shape[:-1] == scores.shape[:-1]
        and value.shape == (*acc.shape[:-2], scores.shape[-1], acc.shape[-1])
    )
    if not fits:
        raise ValueError(
            "m and l (..., L), acc (..., L, d_v), scores (..., L, T) and value (..., T, d_v) must "
            "fit together with T at least 1, got "
            + ", ".join(str(tuple(x.shape)) for x in (m, l, acc, scores, value))
        )


def _check_parts(out_a: Tensor, lse_a: Tensor, out_b: Tensor, lse_b: Tensor) -> None:
    check_float(out_a=out_a, lse_a=lse_a, out_b=out_b, lse_b=lse_b)
    if not out_a.shape[:-1] == lse_a.shape == lse_b.shape or out_a.shape != out_b.shape:
        raise ValueError(
            "both parts must have out (..., L, d_v) and lse (..., L) of the same sizes, got "
            + ", ".join(str(tuple(x.shape)) for x in (out_a, lse_a, out_b, lse_b))
        )
