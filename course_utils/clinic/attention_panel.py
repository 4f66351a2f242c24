"""Attentions for `accepts_attention`: several right ones, and ones with a single fault each."""

import math
from collections.abc import Callable, Mapping
from functools import partial

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from course_utils.clinic.contract import Contract, raising

Attention = Callable[..., Tensor]
Mask = Tensor | None
LONGEST = 64


def _broken(query: Tensor, key: Tensor, value: Tensor, attn_mask: Mask = None) -> dict[str, bool]:
    given = (query, key, value)
    return {
        "dtype": any(x.dtype != torch.float64 for x in given),
        "axes": any(x.dim() not in (2, 3, 4) for x in given),
        "length": max(query.shape[-2], key.shape[-2]) > LONGEST,
        "mask": attn_mask is not None and attn_mask.dtype != torch.bool,
    }


_CONTRACT = Contract(_broken)
_strict, _always = _CONTRACT.strict, _CONTRACT.always


def _visible(query: Tensor, key: Tensor, attn_mask: Mask) -> Tensor:
    shape = (*query.shape[:-1], key.shape[-2])
    full = torch.ones(shape, dtype=torch.bool)
    return full if attn_mask is None else full & attn_mask


def _attend(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Mask = None,
    *,
    scale: Callable[[Tensor, Tensor], float] = lambda key, value: 1 / math.sqrt(key.shape[-1]),
    see: Callable[[Tensor], Tensor] = lambda seen: seen,
    axis: int = -1,
    empty: Callable[[Tensor], float] = lambda key: 0.0,
) -> Tensor:
    """Attend, with steps that a fault may replace."""
    seen = _visible(query, key, None if attn_mask is None else see(attn_mask))
    scores = query @ key.mT * scale(key, value)
    weights = scores.masked_fill(~seen, -torch.inf).softmax(axis)
    nothing = ~seen.any(-1, keepdim=True)
    return weights.masked_fill(nothing, empty(key)) @ value


def _by_torch(query: Tensor, key: Tensor, value: Tensor, attn_mask: Mask = None) -> Tensor:
    return F.scaled_dot_product_attention(query, key, value, attn_mask).nan_to_num(0.0)


def _by_einsum(query: Tensor, key: Tensor, value: Tensor, attn_mask: Mask = None) -> Tensor:
    scores = torch.einsum("...ld,...sd->...ls", query, key) / math.sqrt(query.shape[-1])
    seen = _visible(query, key, attn_mask)
    powers = (scores - scores.amax(-1, keepdim=True)).exp() * seen
    total = powers.sum(-1, keepdim=True)
    weights = powers / total.where(total > 0, 1.0)
    return torch.einsum("...ls,...sv->...lv", weights, value)


def _by_loop(query: Tensor, key: Tensor, value: Tensor, attn_mask: Mask = None) -> Tensor:
    seen = _visible(query, key, attn_mask)
    rows = []
    for i in range(query.shape[-2]):
        scores = (key * query[..., i : i + 1, :]).sum(-1) / query.shape[-1] ** 0.5
        weights = scores.masked_fill(~seen[..., i, :], -torch.inf).softmax(-1).nan_to_num(0.0)
        rows.append((weights.unsqueeze(-1) * value).sum(-2))
    return torch.stack(rows, dim=-2)


def _by_tiles(query: Tensor, key: Tensor, value: Tensor, attn_mask: Mask = None) -> Tensor:
    seen = _visible(query, key, attn_mask)
    m = query.new_full((*query.shape[:-1], 1), -1e300)
    total, out = torch.zeros_like(m), query.new_zeros(*query.shape[:-1], value.shape[-1])
    for start in range(0, key.shape[-2], 3):
        part = slice(start, start + 3)
        scores = query @ key[..., part, :].mT / math.sqrt(query.shape[-1])
        scores = scores.masked_fill(~seen[..., part], -torch.inf)
        new = torch.maximum(m, scores.amax(-1, keepdim=True))
        powers, shrink = (scores - new).exp(), (m - new).exp()
        total, out = total * shrink + powers.sum(-1, keepdim=True), out * shrink
        out, m = out + powers @ value[..., part, :], new
    return out / total.where(total > 0, 1.0)


def _in_place(query: Tensor, key: Tensor, value: Tensor, attn_mask: Mask = None) -> Tensor:
    scores = query @ key.mT
    scores.div_(math.sqrt(query.shape[-1]))
    if attn_mask is not None:
        scores.masked_fill_(~attn_mask, -torch.inf)
    scores.sub_(scores.amax(-1, keepdim=True).nan_to_num_(neginf=0.0)).exp_()
    return scores.div_(scores.sum(-1, keepdim=True).clamp_(min=1e-300)) @ value


def _by_numpy(query: Tensor, key: Tensor, value: Tensor, attn_mask: Mask = None) -> Tensor:
    seen = _visible(query, key, attn_mask).numpy()
    q, k, v = (x.detach().numpy() for x in (query, key, value))
    scores = np.where(seen, q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1]), -np.inf)
    top = np.where(seen.any(-1, keepdims=True), scores.max(-1, keepdims=True), 0.0)
    powers = np.exp(scores - top)
    return torch.from_numpy(powers / np.maximum(powers.sum(-1, keepdims=True), 1e-300) @ v)


def _far_below(query: Tensor, key: Tensor, value: Tensor, attn_mask: Mask = None) -> Tensor:
    """Keep all exponents far below zero, which loses two digits."""
    seen = _visible(query, key, attn_mask)
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    powers = (scores - scores.amax(-1, keepdim=True) - 300).exp() * seen
    total = powers.sum(-1, keepdim=True)
    return powers @ value / total.where(total > 0, 1.0)


def _weights_rounded(query: Tensor, key: Tensor, value: Tensor, attn_mask: Mask = None) -> Tensor:
    seen = _visible(query, key, attn_mask)
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    weights = scores.masked_fill(~seen, -torch.inf).softmax(-1).nan_to_num(0.0)
    return weights.bfloat16().double() @ value


def _masked_after(query: Tensor, key: Tensor, value: Tensor, attn_mask: Mask = None) -> Tensor:
    weights = (query @ key.mT / math.sqrt(query.shape[-1])).softmax(-1)
    return (weights * _visible(query, key, attn_mask)) @ value


def _scaled_in_place(query: Tensor, key: Tensor, value: Tensor, attn_mask: Mask = None) -> Tensor:
    query /= math.sqrt(query.shape[-1])
    return _attend(query, key, value, attn_mask, scale=lambda key, value: 1.0)


def _mask_turned(query: Tensor, key: Tensor, value: Tensor, attn_mask: Mask = None) -> Tensor:
    out = _attend(query, key, value, attn_mask)
    if attn_mask is not None:
        attn_mask.logical_not_()
    return out


def _dropping() -> Attention:
    generator = torch.Generator().manual_seed(1)

    def attend(query: Tensor, key: Tensor, value: Tensor, attn_mask: Mask = None) -> Tensor:
        seen = _visible(query, key, attn_mask)
        scores = query @ key.mT / math.sqrt(query.shape[-1])
        weights = scores.masked_fill(~seen, -torch.inf).softmax(-1).nan_to_num(0.0)
        kept = torch.rand(weights.shape, generator=generator) < 0.8
        return (weights * kept / 0.8) @ value

    return _strict(attend)


def _only_with_masks(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor) -> Tensor:
    return _attend(query, key, value, attn_mask.bool())


def _without_masks(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    return _attend(query, key, value)


RIGHT: Mapping[str, Callable[[], Attention]] = {
    "PyTorch's own operator": lambda: _by_torch,
    "PyTorch's own operator, for boolean masks": _always(_by_torch, "mask"),
    "einsum, with a softmax by hand": _always(_by_einsum, "dtype"),
    "a loop over the queries": _always(_by_loop, "length"),
    "tiles of three keys": _always(_by_tiles, "axes"),
    "in place on its own scores": _always(_in_place, "mask"),
    "NumPy, without gradients": _always(_by_numpy),
    "exponents far below zero": _always(_far_below),
}
FAULTS: Mapping[str, Callable[[], Attention]] = {
    "no scale": _always(partial(_attend, scale=lambda key, value: 1.0)),
    "1/d_k for the scale": _always(partial(_attend, scale=lambda key, value: 1 / key.shape[-1])),
    "the root of d_v for the scale": _always(
        partial(_attend, scale=lambda key, value: value.shape[-1] ** -0.5)
    ),
    "the root of S for the scale": _always(
        partial(_attend, scale=lambda key, value: key.shape[-2] ** -0.5)
    ),
    "softmax over the queries": _always(partial(_attend, axis=-2)),
    "the mask ignored": _always(partial(_attend, see=torch.ones_like)),
    "the mask inverted": _always(partial(_attend, see=torch.logical_not)),
    "the mask put on after the softmax": _always(_masked_after),
    "NaN on an empty row": _always(partial(_attend, empty=lambda key: math.nan)),
    "the mean on an empty row": _always(partial(_attend, empty=lambda key: 1 / key.shape[-2])),
    "the query changed": _always(_scaled_in_place),
    "the mask changed": _always(_mask_turned),
    "dropout left on": _dropping,
    "an error for every input": lambda: raising,
    "an error where a mask is given": lambda: _without_masks,
    "an error where no mask is given": lambda: _only_with_masks,
    "weights rounded to bfloat16": _always(_weights_rounded),
}
