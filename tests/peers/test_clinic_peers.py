"""Code that nobody here wrote is accepted by the tests of chapter 18."""

from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel
from transformers import DynamicCache, LlamaConfig
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding, apply_rotary_pos_emb

from course_utils.attention import causal_mask
from course_utils.clinic import (
    accepts_attention,
    accepts_cache,
    accepts_rotation,
    accepts_tiling,
)


def sdpa(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None) -> Tensor:
    return F.scaled_dot_product_attention(query, key, value, attn_mask)


@pytest.mark.parametrize("backend", [SDPBackend.MATH, SDPBackend.FLASH_ATTENTION])
@pytest.mark.peer(
    "18", "`accepts_attention`, `accepts_tiling`", "PyTorch's SDPA, its plain and its flash kernel",
    "equal", "verdicts",
)  # fmt: skip
def test_pytorch_s_own_attention_is_accepted(backend: SDPBackend) -> None:
    with sdpa_kernel([backend, SDPBackend.MATH]):
        assert accepts_attention(sdpa) is True
        assert accepts_tiling(lambda query, key, value, block: sdpa(query, key, value)) is True


@pytest.mark.peer(
    "18", "`accepts_cache`", "Hugging Face's `DynamicCache` around PyTorch's SDPA", "equal",
    "verdicts",
)  # fmt: skip
def test_hugging_face_s_cache_is_accepted() -> None:
    def attend(query: Tensor, key: Tensor, value: Tensor, cache: Any) -> tuple[Tensor, Any]:
        cache = DynamicCache() if cache is None else cache
        keys, values = cache.update(key, value, 0)
        num_queries, num_keys = query.shape[-2], keys.shape[-2]
        mask = causal_mask(num_queries, num_keys, num_keys - num_queries)
        return sdpa(query, keys, values, mask), cache

    assert accepts_cache(attend) is True


@pytest.mark.peer(
    "18", "`accepts_rotation`", "Hugging Face's `apply_rotary_pos_emb`", "equal", "verdicts"
)
def test_hugging_face_s_rotation_is_accepted() -> None:
    def turn(x: Tensor, positions: Tensor) -> Tensor:
        width = x.shape[-1]
        frequencies = 10000.0 ** (-torch.arange(0, width, 2, dtype=x.dtype) / width)
        angle = positions.expand(x.shape[0], -1).unsqueeze(-1) * frequencies
        angle = torch.cat([angle, angle], dim=-1)
        return apply_rotary_pos_emb(x, x, angle.cos(), angle.sin())[0]

    assert accepts_rotation(turn) is True
    config = LlamaConfig(hidden_size=8, num_attention_heads=1, num_hidden_layers=1)
    embedding = LlamaRotaryEmbedding(config)
    want = 10000.0 ** (-torch.arange(0, 8, 2) / 8)
    assert (embedding.inv_freq - want).abs().max() < 1e-6
