"""The sizes at which benchmarks/flash_gpu.py measures, and the ways to attend that it compares."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

from course_utils.attention.tiled.flash.flash import flash_attention
from course_utils.attention.tiled.flash.spans import visible_spans

Attend = Callable[[Tensor, Tensor, Tensor], Tensor]
TOKENS, STREAM = 16384, 2048  # batch · length, and heads · width
BACKENDS = {
    "sdpa_flash": SDPBackend.FLASH_ATTENTION,
    "sdpa_cudnn": SDPBackend.CUDNN_ATTENTION,
    "sdpa_efficient": SDPBackend.EFFICIENT_ATTENTION,
}


class Case(NamedTuple):
    """One size at which everything is timed."""

    width: int
    length: int
    is_causal: bool
    tokens: int = TOKENS
    stream: int = STREAM

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """Batch, heads, length, width."""
        return self.tokens // self.length, self.stream // self.width, self.length, self.width

    @property
    def flops(self) -> float:
        """The operations of the forward pass's two matrix products."""
        batch, heads, length, width = self.shape
        return 4.0 * batch * heads * length**2 * width * (0.5 if self.is_causal else 1.0)


def cases(lengths: tuple[int, ...], **sizes: int) -> list[Case]:
    """Return every width with every length, causal and not."""
    return [
        Case(width, length, is_causal, **sizes)
        for width in (64, 128)
        for is_causal in (False, True)
        for length in lengths
    ]


def ways(case: Case, device: str) -> dict[str, Attend]:
    """Return every way to attend, by name; "ours" is the first."""
    found: dict[str, Attend] = {"ours": partial(flash_attention, is_causal=case.is_causal)}
    for name, backend in BACKENDS.items():
        found[name] = partial(pinned, backend, case.is_causal)
    if device == "cuda":
        found["flex"] = flex(case)
    found["naive"] = partial(naive, case.is_causal)
    return found


def options(case: Case, device: str) -> dict[str, dict[str, Any]]:
    """Return what a call may ask of the kernels besides, by name."""
    heads, length = case.shape[1:3]
    slopes = torch.exp2(-8 * torch.arange(1, heads + 1, device=device) / heads)
    documents = torch.full((8,), length // 8)
    documents[-1] += length % 8
    return {
        "window": {"is_causal": True, "window": (length // 8 - 1, None)},
        "documents": {"is_causal": True, "lengths": documents},
        "cap": {"is_causal": True, "cap": 50.0},
        "slopes": {"is_causal": True, "slopes": slopes},
        "all": {"window": (length // 8, 0), "lengths": documents, "cap": 50.0, "slopes": slopes},
    }


def optional(
    lengths: tuple[int, ...], device: str, **sizes: int
) -> Iterator[tuple[Case, dict[str, Attend], dict[str, Any]]]:
    """Yield each size with ours and FlexAttention under an option: its name, the share of pairs."""
    for case in cases(lengths, **sizes):
        if case.is_causal:  # the options say themselves what is
            continue
        for name, asked in options(case, device).items():
            hiding = {kind: x for kind, x in asked.items() if kind not in ("cap", "slopes")}
            low, limit = visible_spans(case.length, case.length, **hiding).queries.to(device)
            found: dict[str, Attend] = {"ours": partial(flash_attention, **asked)}
            if device == "cuda":
                found["flex"] = optional_flex(case, asked, low, limit)
            seen = float((limit - low).sum()) / case.length**2
            yield case, found, {"option": name, "seen": seen}


def optional_flex(case: Case, asked: dict[str, Any], low: Tensor, limit: Tensor) -> Attend:
    """Return FlexAttention with an option, compiled for this case."""
    cap, slopes = asked.get("cap"), asked.get("slopes")

    def mod(score: Tensor, b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
        score = score if cap is None else cap * torch.tanh(score / cap)
        return score if slopes is None else score - slopes[h] * (i - j).abs()

    torch._dynamo.reset()
    blocks = create_block_mask(
        lambda b, h, i, j: (j >= low[i]) & (j < limit[i]), None, None, case.length, case.length,
        device="cuda",
    )  # fmt: skip
    compiled = torch.compile(flex_attention, dynamic=False)
    return partial(compiled, score_mod=mod, block_mask=blocks)


def pinned(backend: SDPBackend, is_causal: bool, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Return torch's attention by this backend and no other."""
    with sdpa_kernel(backend):
        return F.scaled_dot_product_attention(q, k, v, is_causal=is_causal)


def flex(case: Case) -> Attend:
    """Return FlexAttention, compiled for this case; its backward pass may run more than once."""
    torch._dynamo.reset()
    torch._functorch.config.donated_buffer = False
    blocks = None
    if case.is_causal:
        size = (case.length, case.length)
        blocks = create_block_mask(lambda b, h, q, k: k <= q, None, None, *size, device="cuda")
    return partial(torch.compile(flex_attention, dynamic=False), block_mask=blocks)


def naive(is_causal: bool, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Return attention as the formula says it, with all scores in memory."""
    scores = q @ k.mT * q.shape[-1] ** -0.5
    if is_causal:
        ones = torch.ones(scores.shape[-2:], dtype=torch.bool, device=q.device)
        scores = scores.masked_fill(~ones.tril(), -torch.inf)
    return torch.softmax(scores, -1) @ v


def inputs(shape: tuple[int, ...], dtype: torch.dtype, device: str) -> list[Tensor]:
    """Return query, key, value that ask for gradients, and the output's gradient."""
    g = torch.Generator().manual_seed(shape[2])
    made = [torch.randn(shape, generator=g).to(device, dtype) for _ in range(4)]
    return [*(x.requires_grad_() for x in made[:3]), made[3]]
