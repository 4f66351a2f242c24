"""Rotations for `accepts_rotation`: several right RoPEs, and ones with a single fault each."""

import math
from collections.abc import Callable, Mapping
from functools import partial

import numpy as np
import torch
from torch import Tensor

from course_utils.clinic.contract import Contract, raising
from course_utils.positions import rope_interleaved, rope_split_halves

Turn = Callable[[Tensor, Tensor], Tensor]


def _broken(x: Tensor, positions: Tensor) -> dict[str, bool]:
    return {
        "dtype": x.dtype != torch.float64,
        "number of axes": x.dim() != 4,
        "kind of positions": positions.dtype != torch.long,
    }


_always = Contract(_broken).always


def _frequencies(d_k: int) -> Tensor:
    return 10000.0 ** (-torch.arange(0, d_k, 2, dtype=torch.float64) / d_k)


def _rope(
    x: Tensor,
    positions: Tensor,
    *,
    halves: bool = False,
    frequencies: Callable[[int], Tensor] = _frequencies,
    place: Callable[[Tensor, Tensor], Tensor] = lambda x, positions: positions,
    sign: float = 1.0,
    grow: float = 1.0,
    share: int = 1,
) -> Tensor:
    """Rotate pairs of features, with steps that a fault may replace."""
    own = place(x, positions)
    own = own.view(1, 1, -1, 1) if own.dim() == 1 else own
    own = own.unsqueeze(1).unsqueeze(-1) if own.dim() == 2 else own  # (B, L) to (B, 1, L, 1)
    angle = own * frequencies(x.shape[-1])
    angle[..., angle.shape[-1] // share :] = 0
    cos, sin = grow * angle.cos(), sign * angle.sin()
    a, b = x.chunk(2, dim=-1) if halves else (x[..., 0::2], x[..., 1::2])
    turned = a * cos - b * sin, a * sin + b * cos
    return torch.cat(turned, dim=-1) if halves else torch.stack(turned, dim=-1).flatten(-2)


def _complex(x: Tensor, positions: Tensor) -> Tensor:
    angle = positions.unsqueeze(-1) * _frequencies(x.shape[-1])
    angle = angle if positions.dim() == 1 else angle.unsqueeze(1)
    pairs = torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous())
    return torch.view_as_real(pairs * torch.polar(torch.ones_like(angle), angle)).flatten(-2)


def _rotate_half(x: Tensor, positions: Tensor) -> Tensor:
    """Rotate as Hugging Face's Llama does."""
    positions = positions.expand(x.shape[0], -1)
    angle = positions[:, None, :, None] * _frequencies(x.shape[-1])
    angle = torch.cat((angle, angle), dim=-1)
    first, second = x.chunk(2, dim=-1)
    return x * angle.cos() + torch.cat((-second, first), dim=-1) * angle.sin()


def _by_matrix(x: Tensor, positions: Tensor) -> Tensor:
    """Multiply each token by its matrix of 2 × 2 rotations."""
    out = torch.empty_like(x)
    for b in range(x.shape[0]):
        for i, p in enumerate((positions if positions.dim() == 1 else positions[b]).tolist()):
            angles = p * _frequencies(x.shape[-1])
            blocks = [torch.stack([a.cos(), -a.sin(), a.sin(), a.cos()]).view(2, 2) for a in angles]
            out[b, :, i] = x[b, :, i] @ torch.block_diag(*blocks).mT
    return out


def _by_numpy(x: Tensor, positions: Tensor) -> Tensor:
    q, d = x.numpy(), x.shape[-1]
    angle = positions.numpy()[..., None] / 10000.0 ** (np.arange(d // 2) * 2 / d)
    angle = angle if positions.dim() == 1 else angle[:, None]
    a, b = q[..., : d // 2], q[..., d // 2 :]
    cos, sin = np.cos(angle), np.sin(angle)
    return torch.from_numpy(np.concatenate([a * cos - b * sin, b * cos + a * sin], axis=-1))


def _within_one_turn(x: Tensor, positions: Tensor) -> Tensor:
    """Leave whole turns out of the angles, which loses a digit or two."""
    angle = (positions.unsqueeze(-1) * _frequencies(x.shape[-1])).remainder(2 * math.pi)
    angle = angle if positions.dim() == 1 else angle.unsqueeze(1)
    a, b = x.chunk(2, dim=-1)
    cos, sin = (angle + 2 * math.pi).cos(), (angle + 2 * math.pi).sin()
    return torch.cat((a * cos - b * sin, a * sin + b * cos), dim=-1)


def _either(x: Tensor, positions: Tensor) -> Tensor:
    """Pair neighbours where all sentences share their positions, and split halves elsewhere."""
    return _rope(x, positions, halves=positions.dim() == 2)


def _only(axes: int) -> Turn:
    """Return a rotation that takes positions with so many axes only."""

    def turn(x: Tensor, positions: Tensor) -> Tensor:
        if positions.dim() != axes:
            raise ValueError(f"positions must have {axes} axes")
        return _rope(x, positions)

    return turn


def _along(axis: int) -> Callable[[Tensor, Tensor], Tensor]:
    """Return the positions that result from mistaking another axis for the tokens'."""
    shape = [1, 1, 1, 1]
    shape[axis] = -1
    return lambda x, positions: torch.arange(x.shape[axis]).view(shape)


def _own_of_first(x: Tensor, positions: Tensor) -> Tensor:
    return positions if positions.dim() == 1 else positions[0]


RIGHT: Mapping[str, Callable[[], Turn]] = {
    "neighbours paired": _always(rope_interleaved),
    "split halves paired": _always(rope_split_halves),
    "complex numbers": _always(_complex, "number of axes"),
    "as Hugging Face's Llama": lambda: _rotate_half,
    "a matrix for each token": _always(_by_matrix, "kind of positions"),
    "split halves, by NumPy": _always(_by_numpy, "dtype"),
    "angles within one turn": _always(_within_one_turn),
}
FAULTS: Mapping[str, Callable[[], Turn]] = {
    "nothing turned": _always(lambda x, positions: x.clone()),
    "the positions ignored": _always(
        partial(_rope, place=lambda x, positions: torch.arange(x.shape[2]))
    ),
    "positions counted from 1": _always(partial(_rope, place=lambda x, p: p + 1, halves=True)),
    "the first sentence's positions for all": _always(partial(_rope, place=_own_of_first)),
    "turned along the batch": _always(partial(_rope, place=_along(0))),
    "turned along the heads": _always(partial(_rope, place=_along(1), halves=True)),
    "the exponent i/d_k": _always(
        partial(_rope, frequencies=lambda d: 10000.0 ** (-torch.arange(d // 2).double() / d))
    ),
    "one frequency": _always(partial(_rope, frequencies=lambda d: torch.ones(d // 2).double())),
    "base 500,000": _always(
        partial(_rope, frequencies=lambda d: 500000.0 ** (-torch.arange(0, d, 2).double() / d))
    ),
    "the other direction": _always(partial(_rope, sign=-1.0, halves=True)),
    "half of the features only": _always(partial(_rope, share=2)),
    "a length that changes": _always(partial(_rope, grow=1.1)),
    "an error for every input": lambda: raising,
    "one pairing for (L,), the other for (B, L)": _always(_either),
    "an error for positions (L,)": _always(_only(2)),
    "an error for positions (B, L)": _always(_only(1)),
    "frequencies rounded to bfloat16": _always(
        partial(_rope, frequencies=lambda d: _frequencies(d).bfloat16().double())
    ),
}
