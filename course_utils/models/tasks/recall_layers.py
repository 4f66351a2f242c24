"""The layers of the recall model: one frame for any kind of attention and for mixers with a state.

Source: the mixing of neighbours is the short convolution of Arora et al. 2024, Zoology, section 3,
    https://arxiv.org/abs/2312.04927
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from course_utils.attention import (
    causal_linear_attention,
    grouped_query_attention,
    merge_heads,
    sliding_window_attention,
    split_heads,
)
from course_utils.attention.masks.causal import causal_mask
from course_utils.models.tasks.state_mixers import MIXERS

D_MODEL, WINDOW = 64, 16
Attend = Callable[[Tensor, Tensor, Tensor], Tensor]


def make_layer(
    kind: str, num_heads: int, num_kv_heads: int, d_latent: int | None = None
) -> nn.Module:
    """Return a layer of a kind, as large as any other; see `RecallModel` for the arguments."""
    if kind in MIXERS:
        return _StateLayer(kind, num_heads)
    return _Layer(kind, num_heads, num_kv_heads, d_latent)


class _Layer(nn.Module):
    def __init__(self, kind: str, num_heads: int, num_kv_heads: int, d_latent: int | None) -> None:
        super().__init__()
        self.attend, self.num_heads, self.num_kv_heads = _ATTEND[kind], num_heads, num_kv_heads
        self.norm = nn.LayerNorm(D_MODEL)
        self.before = nn.Parameter(0.1 * torch.randn(D_MODEL))
        self.query = nn.Linear(D_MODEL, D_MODEL, bias=False)
        self.key: nn.Module
        self.value: nn.Module
        if d_latent is None:
            d_kv = D_MODEL // num_heads * num_kv_heads
            self.key, self.value = (nn.Linear(D_MODEL, d_kv, bias=False) for _ in range(2))
            spared = D_MODEL - d_kv
        else:
            down = nn.Linear(D_MODEL, d_latent, bias=False)  # one for both: all that would be kept
            self.key, self.value = (nn.Sequential(down, _unfolded(d_latent)) for _ in range(2))
            spared = D_MODEL - 3 * d_latent // 2
        d_ff = 4 * D_MODEL + spared  # the feed-forward layer gets what keys and values save
        self.merge = nn.Linear(D_MODEL, D_MODEL, bias=False)
        self.feed_forward = _feed_forward(d_ff)

    def forward(self, x: Tensor) -> Tensor:
        y = _with_the_one_before(self.norm(x), self.before)
        query = split_heads(self.query(y), self.num_heads)
        key, value = (split_heads(part(y), self.num_kv_heads) for part in (self.key, self.value))
        x = x + self.merge(merge_heads(self.attend(query, key, value)))
        return x + self.feed_forward(x)


class _StateLayer(nn.Module):
    def __init__(self, kind: str, num_heads: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(D_MODEL)
        self.before = nn.Parameter(0.1 * torch.randn(D_MODEL))
        self.mixer = MIXERS[kind](D_MODEL, num_heads)
        needed = sum(weight.numel() for weight in self.mixer.parameters())
        spared = round((3 * D_MODEL**2 - needed) / (2 * D_MODEL))
        self.merge = nn.Linear(D_MODEL, D_MODEL, bias=False)
        self.feed_forward = _feed_forward(4 * D_MODEL + spared)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.merge(self.mixer(_with_the_one_before(self.norm(x), self.before)))
        return x + self.feed_forward(x)


def _feed_forward(d_ff: int) -> nn.Sequential:
    return nn.Sequential(
        nn.LayerNorm(D_MODEL),
        nn.Linear(D_MODEL, d_ff, bias=False),
        nn.GELU(),
        nn.Linear(d_ff, D_MODEL, bias=False),
    )


def _with_the_one_before(x: Tensor, share: Tensor) -> Tensor:
    """Return each token blended with the one before it: the short convolution."""
    return x + share * F.pad(x, (0, 0, 1, -1))


def _unfolded(d_latent: int) -> nn.Linear:
    """Return what makes all heads' keys, at first as large as the keys of the other models."""
    up = nn.Linear(d_latent, D_MODEL, bias=False)
    nn.init.normal_(up.weight, std=d_latent**-0.5)
    return up


def _full(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    length = query.shape[-2]
    return grouped_query_attention(query, key, value, causal_mask(length, length))


def _window(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    return sliding_window_attention(query, key, value, WINDOW)


_ATTEND: dict[str, Attend] = {
    "full": _full,
    "window": _window,
    "linear": causal_linear_attention,
    "latent": _full,
}
KINDS = (*_ATTEND, *MIXERS)
