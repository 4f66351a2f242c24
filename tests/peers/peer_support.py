"""Helpers of the comparisons with other people's code: inputs, masks, and the comparison itself."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, flex_attention, sdpa_kernel

from course_utils.attention import causal_mask, combine_masks, padding_mask
from tests.support import Tensors, as_tuple, draw

# Otherwise FlexAttention warns that it is not compiled; it has no backward on a CPU.
flex_attention._FLEX_ATTENTION_DISABLE_COMPILE_DEBUG = True
BATCH, HEADS, WIDTH = 2, 4, 32  # with the lengths below, all sizes differ
MASKS = [
    "none",
    "queries",
    "heads",
    "padding",
    "queries and padding",
    "heads and padding",
    "causal",
    "causal and padding",
]


def draw_mask(*shape: int) -> Tensor:
    """Return a random mask that leaves every query its first key."""
    mask = draw(*shape, seed=5) > 0
    mask[..., 0] = True
    return mask


def draw_lengths(num_keys: int) -> Tensor:
    """Return how many keys of each sequence are real: all, and about half."""
    return torch.tensor([num_keys, (num_keys + 1) // 2])


def results(call: Callable[..., Tensor | Tensors], given: Tensors, wanted: Tensors) -> Tensors:
    """Return the outputs, and the gradients of one random loss of all of them."""
    out = as_tuple(call(*given))
    slopes = [draw(*one.shape, seed=9) for one in out]
    return *(one.detach() for one in out), *torch.autograd.grad(out, wanted, slopes)


def sdpa(*given: Tensor | None, **options) -> Tensor:
    """Return what SDPA's plain kernel does."""
    with sdpa_kernel(SDPBackend.MATH):
        return F.scaled_dot_product_attention(*given, **options)


def flash_attn(
    query: Tensor, key: Tensor, value: Tensor, causal: bool = False,
    window: tuple[int, int] = (-1, -1), cap: float = 0.0, slopes: Tensor | None = None,
    kept: Tensor | float = 1.0,
) -> Tensor:  # fmt: skip
    """Return what `attention_ref` does in flash-attn's tests, written afresh from its rules.

    Query i stands at i + S - L. It sees the keys from left before that place to right behind it, -1
    being no limit and causal being right = 0. The scaled score, capped as cap · tanh(score / cap),
    gets -slope · distance; rows that see nothing are zeros. Dropout multiplies the weights by
    `kept`. https://github.com/Dao-AILab/flash-attention, tests/test_flash_attn.py
    """
    left, right = (window[0], 0) if causal else window
    key, value = (x.repeat_interleave(query.shape[1] // x.shape[1], dim=1) for x in (key, value))
    scores = query @ key.mT / query.shape[-1] ** 0.5
    if cap:
        scores = cap * torch.tanh(scores / cap)
    column = torch.arange(key.shape[-2])
    row = torch.arange(query.shape[-2])[:, None] + key.shape[-2] - query.shape[-2]
    hidden = torch.zeros(scores.shape[-2:], dtype=torch.bool)
    if left >= 0:
        hidden |= column < row - left
    if right >= 0:
        hidden |= column > row + right
    if slopes is not None:
        scores = scores - slopes[:, None, None] * (row - column).abs()
    weights = scores.masked_fill(hidden, -torch.inf).softmax(dim=-1)
    return weights.masked_fill(hidden.all(-1, keepdim=True), 0.0) * kept @ value


def masks(kind: str, num_queries: int, num_keys: int) -> tuple[Tensor | None, dict]:
    """Return one mask twice: as we take it, and as PyTorch's module does, True = hidden."""
    pattern, parts = None, []
    if "queries" in kind:
        pattern = draw_mask(num_queries, num_keys)
    elif "heads" in kind:
        pattern = draw_mask(BATCH, HEADS, num_queries, num_keys)
    elif "causal" in kind:
        pattern = causal_mask(num_queries, num_keys)
    theirs: dict = {"is_causal": True} if "causal" in kind else {}
    if pattern is not None:
        parts.append(pattern)
        theirs["attn_mask"] = ~(pattern.flatten(0, 1) if "heads" in kind else pattern)
    if "padding" in kind:
        parts.append(padding_mask(draw_lengths(num_keys), num_keys))
        theirs["key_padding_mask"] = ~parts[-1].flatten(1)
    return combine_masks(*parts) if parts else None, theirs


def streams(num_queries: int, num_keys: int, d_key: int = WIDTH, d_value: int = WIDTH, **_):
    sizes = ((num_queries, WIDTH), (num_keys, d_key), (num_keys, d_value))
    return tuple(draw(BATCH, *size, seed=i).requires_grad_() for i, size in enumerate(sizes))


def in_its_own_precision(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let their softmax, which many models ask for in float32, keep the precision of its input."""
    monkeypatch.setattr(F, "softmax", lambda x, dim, **_: x.softmax(dim))


def exact_norm(self: nn.Module, x: Tensor) -> Tensor:
    """Stand in for Llama's norm, which rounds to float32 in every model: that hides mistakes."""
    return self.weight * x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.variance_epsilon)


def exact_rotation(self: nn.Module, x: Tensor, position_ids: Tensor) -> tuple[Tensor, Tensor]:
    """Stand in for Llama's cosines and sines, which are rounded too."""
    pair = torch.arange(0, 2 * len(self.inv_freq), 2, dtype=torch.float64)
    base = self.config.rope_parameters["rope_theta"]
    turned = position_ids[..., None] * base ** (-pair / (2 * len(self.inv_freq)))
    turned = torch.cat((turned, turned), dim=-1)
    return turned.cos(), turned.sin()


def seeded(module: nn.Module) -> nn.Module:
    """Return the module in float64, every parameter drawn anew: norms and biases count too."""
    for number, parameter in enumerate(module.parameters()):
        parameter.data = draw(*parameter.shape, seed=number) / 3
    return module.double()
