"""Tiled attentions for `accepts_tiling`: several right ones, and ones with a single fault each."""

import math
from collections.abc import Callable, Mapping
from functools import partial

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from course_utils.attention import scaled_dot_product_attention
from course_utils.clinic.contract import Contract, raising

Tiled = Callable[[Tensor, Tensor, Tensor, int], Tensor]


def _broken(query: Tensor, key: Tensor, value: Tensor, block: int) -> dict[str, bool]:
    given = (query, key, value)
    return {
        "dtype": any(x.dtype != torch.float64 for x in given),
        "number of axes": any(x.dim() != 4 for x in given),
        "block": not isinstance(block, int) or block < 1,
    }


_always = Contract(_broken).always


def _tiles(num_keys: int, block: int) -> list[slice]:
    return [slice(start, start + block) for start in range(0, num_keys, block)]


def _online(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    block: int,
    *,
    tiles: Callable[[int, int, int], list[slice]] = lambda L, S, block: _tiles(S, block),
    running: bool = True,
    rescale_sum: bool = True,
    rescale_out: bool = True,
    width: Callable[[Tensor, Tensor], int] = lambda query, value: value.shape[-1],
    scale: float | None = None,
    kept: Callable[[Tensor], Tensor] = lambda powers: powers,
) -> Tensor:
    """Attend tile by tile, with steps that a fault may replace."""
    factor = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    m = query.new_full((*query.shape[:-1], 1), -torch.inf)
    total, out = torch.zeros_like(m), query.new_zeros(*query.shape[:-1], width(query, value))
    for part in tiles(query.shape[-2], key.shape[-2], block):
        scores = query @ key[..., part, :].mT * factor
        new = torch.maximum(m, scores.amax(-1, keepdim=True)) if running else torch.zeros_like(m)
        powers, shrink = (scores - new).exp(), (m - new).exp() if running else torch.ones_like(m)
        total = total * (shrink if rescale_sum else 1.0) + powers.sum(-1, keepdim=True)
        out = out * (shrink if rescale_out else 1.0) + kept(powers) @ value[..., part, :]
        m = new
    return out / total


def _whole(query: Tensor, key: Tensor, value: Tensor, block: int) -> Tensor:
    return scaled_dot_product_attention(query, key, value)


def _two_passes(query: Tensor, key: Tensor, value: Tensor, block: int) -> Tensor:
    tiles = _tiles(key.shape[-2], block)
    parts = [query @ key[..., t, :].mT / math.sqrt(query.shape[-1]) for t in tiles]
    top = torch.stack([part.amax(-1) for part in parts]).amax(0).unsqueeze(-1)
    powers = [(part - top).exp() for part in parts]
    out = sum(p @ value[..., t, :] for p, t in zip(powers, tiles, strict=True))
    total = sum(p.sum(-1, keepdim=True) for p in powers)
    return torch.as_tensor(out / total)


def _merged(query: Tensor, key: Tensor, value: Tensor, block: int) -> Tensor:
    outs, sums = [], []
    for tile in _tiles(key.shape[-2], block):
        scores = torch.einsum("bhld,bhsd->bhls", query, key[..., tile, :]) / query.shape[-1] ** 0.5
        outs.append(scores.softmax(-1) @ value[..., tile, :])
        sums.append(scores.logsumexp(-1))
    shares = torch.stack(sums).softmax(0).unsqueeze(-1)
    return (shares * torch.stack(outs)).sum(0)


def _by_numpy(query: Tensor, key: Tensor, value: Tensor, block: int) -> Tensor:
    out = np.zeros((*query.shape[:-1], value.shape[-1]))
    q, k, v = (x.numpy() for x in (query, key, value))
    for i in range(0, q.shape[-2], 2):  # tiles of queries, and the block left alone
        scores = q[..., i : i + 2, :] @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
        powers = np.exp(scores - scores.max(-1, keepdims=True))
        out[..., i : i + 2, :] = powers / powers.sum(-1, keepdims=True) @ v
    return torch.from_numpy(out)


def _each_alone(
    query: Tensor, key: Tensor, value: Tensor, block: int, *, join: Callable[..., Tensor]
) -> Tensor:
    """Take a softmax of each tile by itself."""
    scaled = query / math.sqrt(query.shape[-1])
    tiles = _tiles(key.shape[-2], block)
    outs = [(scaled @ key[..., t, :].mT).softmax(-1) @ value[..., t, :] for t in tiles]
    return join(torch.stack(outs), dim=0)


def _backwards(L: int, S: int, block: int) -> list[slice]:
    return _tiles(S, block)[::-1]


def _full_tiles(L: int, S: int, block: int) -> list[slice]:
    return _tiles(S // block * block, block)


def _tiles_of_queries(L: int, S: int, block: int) -> list[slice]:
    return [part for part in _tiles(L, block) if part.start < S]


def _by_torch(query: Tensor, key: Tensor, value: Tensor, block: int) -> Tensor:
    return F.scaled_dot_product_attention(query, key, value)


RIGHT: Mapping[str, Callable[[], Tiled]] = {
    "tiles with a running maximum": _always(_online),
    "the same from the last tile on": _always(partial(_online, tiles=_backwards)),
    "all keys at once, as in chapter 03": lambda: _whole,
    "PyTorch's own operator": _always(_by_torch),
    "two passes, the maximum first": _always(_two_passes, "dtype"),
    "tiles merged by their log-sums": _always(_merged, "number of axes"),
    "tiles of two queries, by NumPy": _always(_by_numpy, "dtype", "number of axes"),
}
FAULTS: Mapping[str, Callable[[], Tiled]] = {
    "a softmax in each tile, summed": _always(partial(_each_alone, join=torch.sum)),
    "a softmax in each tile, averaged": _always(partial(_each_alone, join=torch.mean)),
    "no scale": _always(partial(_online, scale=1.0)),
    "the keys that do not fill a block dropped": _always(partial(_online, tiles=_full_tiles)),
    "keys counted by the number of queries": _always(partial(_online, tiles=_tiles_of_queries)),
    "an output as wide as the query": _always(
        partial(_online, width=lambda query, value: query.shape[-1])
    ),
    "no running maximum": _always(partial(_online, running=False)),
    "the sum not rescaled": _always(partial(_online, rescale_sum=False)),
    "the output not rescaled": _always(partial(_online, rescale_out=False)),
    "an error for every input": lambda: raising,
    "weights rounded to bfloat16": _always(
        partial(_online, kept=lambda powers: powers.bfloat16().double())
    ),
}
