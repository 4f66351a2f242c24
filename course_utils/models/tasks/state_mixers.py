"""Token mixers that keep a state instead of a cache, for the recall models.

Source: see the files `retention`, `gated_linear`, `delta_rule`, `selective_scan` and `wkv` in
    `attention`
Differs: the short convolution before each, the merging after it and the feed-forward layer are the
    recall model's, the same for all; no group norm and no gate after the heads
"""

import math
from collections.abc import Callable
from functools import partial

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from course_utils.attention import (
    chunked_selective_scan,
    gated_delta_rule,
    gated_linear_attention,
    merge_heads,
    retention_parallel,
    split_heads,
    wkv,
)


class _Heads(nn.Module):
    """Queries, keys and values for heads; query and key may go through SiLU, and to length 1."""

    def __init__(self, d_model: int, num_heads: int, *, silu: bool, unit: bool) -> None:
        super().__init__()
        self.num_heads, self.silu, self.unit = num_heads, silu, unit
        self.query, self.key, self.value = (
            nn.Linear(d_model, d_model, bias=False) for _ in range(3)
        )

    def forward(self, x: Float[Tensor, "B L d_model"]) -> Float[Tensor, "B L d_model"]:
        """Return what the heads read, side by side."""
        query, key, value = (
            split_heads(part(x), self.num_heads) for part in (self.query, self.key, self.value)
        )
        if self.silu:
            query, key = F.silu(query), F.silu(key)
        if self.unit:
            query, key = (F.normalize(part, dim=-1) for part in (query, key))
        return merge_heads(self.read(x, query, key, value))

    def read(self, x: Tensor, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        raise NotImplementedError


class Retention(_Heads):
    """Retention with the decays of its paper, 1 - 2^(-5-h) for head h."""

    def read(self, x: Tensor, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        """Read all positions from one table of scores: the lists are short."""
        decay = 1 - 2.0 ** -(5 + torch.arange(self.num_heads, device=x.device, dtype=x.dtype))
        return retention_parallel(query, key, value, decay)


class GatedLinear(_Heads):
    """Gated linear attention; a gate for each channel of the keys, through a narrow layer."""

    def __init__(self, d_model: int, num_heads: int, *, silu: bool, unit: bool) -> None:
        super().__init__(d_model, num_heads, silu=silu, unit=unit)
        self.gate = nn.Sequential(
            nn.Linear(d_model, d_model // 4, bias=False),
            nn.Linear(d_model // 4, d_model, bias=False),
        )

    def read(self, x: Tensor, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        """Read in chunks; the gates are sixteenth roots of sigmoids, which begin near 0.96."""
        gate = torch.exp(F.logsigmoid(split_heads(self.gate(x), self.num_heads)) / 16)
        return gated_linear_attention(query, key, value, gate)


class Delta(_Heads):
    """The delta rule: nothing decays, and each token sets how much of its correction is written."""

    def __init__(self, d_model: int, num_heads: int) -> None:
        super().__init__(d_model, num_heads, silu=True, unit=True)
        self.beta = nn.Linear(d_model, num_heads, bias=False)

    def kept(self, x: Tensor) -> Tensor:
        """Return how much of the past each token keeps, for each head: all of it."""
        return x.new_ones(*x.shape[:2], self.num_heads)

    def read(self, x: Tensor, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        """Read in chunks."""
        alpha, beta = self.kept(x).mT, self.beta(x).sigmoid().mT
        return gated_delta_rule(query, key, value, alpha, beta)


class GatedDelta(Delta):
    """The gated delta rule; each head begins by keeping about 0.98 per token."""

    def __init__(self, d_model: int, num_heads: int) -> None:
        super().__init__(d_model, num_heads)
        self.alpha = nn.Linear(d_model, num_heads, bias=False)

    def kept(self, x: Tensor) -> Tensor:
        """Return how much of the past each token keeps, for each head."""
        return (self.alpha(x) + 4.0).sigmoid()


class SelectiveSSM(nn.Module):
    """A selective state space model with 16 numbers per channel, followed by Mamba's gate."""

    STATE, RANK = 16, 4

    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.value, self.gate = (nn.Linear(d_model, d_model, bias=False) for _ in range(2))
        self.select = nn.Linear(d_model, 2 * self.STATE + self.RANK, bias=False)
        self.delta = nn.Linear(self.RANK, d_model)
        start = torch.exp(torch.empty(d_model).uniform_(math.log(1e-3), math.log(0.1)))
        with torch.no_grad():
            self.delta.bias.copy_(start + torch.log(-torch.expm1(-start)))  # softplus inverted
        self.log_A = nn.Parameter(
            torch.arange(1.0, self.STATE + 1).log().expand(d_model, -1).clone()
        )
        self.D = nn.Parameter(torch.ones(d_model))

    def forward(self, x: Float[Tensor, "B L d_model"]) -> Float[Tensor, "B L d_model"]:
        """Return what every channel reads from its own state."""
        u = F.silu(self.value(x))
        write, read, step = self.select(u).split((self.STATE, self.STATE, self.RANK), dim=-1)
        delta = F.softplus(self.delta(step))
        out: Tensor = chunked_selective_scan(u, delta, -self.log_A.exp(), write, read, self.D)
        return out * F.silu(self.gate(x))


class WKV(nn.Module):
    """RWKV-4's mixing over time: three numbers per channel, and a receptance that gates them."""

    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.receptance, self.key, self.value = (
            nn.Linear(d_model, d_model, bias=False) for _ in range(3)
        )
        self.log_decay = nn.Parameter(torch.linspace(-5.0, 3.0, d_model))
        self.bonus = nn.Parameter(torch.full((d_model,), math.log(0.3)))

    def forward(self, x: Float[Tensor, "B L d_model"]) -> Float[Tensor, "B L d_model"]:
        """Return what every channel reads from its own average."""
        out = wkv(self.key(x), self.value(x), self.log_decay.exp(), self.bonus)
        return out * torch.sigmoid(self.receptance(x))


# What is done to query and key: (SiLU, length 1).
PREPARED = {
    "": (True, True),
    "raw ": (False, False),
    "SiLU ": (True, False),
    "unit ": (False, True),
}
MIXERS: dict[str, Callable[[int, int], nn.Module]] = {
    f"{prefix}{name}": partial(mixer, silu=silu, unit=unit)
    for name, mixer in (("retention", Retention), ("gated linear", GatedLinear))
    for prefix, (silu, unit) in PREPARED.items()
} | {
    "delta": Delta,
    "gated delta": GatedDelta,
    "SSM": lambda d_model, _: SelectiveSSM(d_model),
    "WKV": lambda d_model, _: WKV(d_model),
}
