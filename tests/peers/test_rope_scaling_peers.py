"""Rescaled RoPE beside transformers' code in float64."""

import pytest
import torch
from torch import Tensor
from transformers import GptOssConfig, LlamaConfig
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

from course_utils.positions import (
    interpolate_positions,
    llama3_frequencies,
    ntk_base,
    rope_frequencies,
    yarn_frequencies,
    yarn_magnitude,
)


@pytest.fixture(autouse=True)
def exact(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let their frequencies be float64, where they are float32."""
    monkeypatch.setattr(torch, "float", torch.float64)
    monkeypatch.setattr(Tensor, "float", Tensor.double)


def llama(rope: dict[str, object], d_k: int = 8) -> LlamaConfig:
    return LlamaConfig(
        hidden_size=3 * d_k, num_attention_heads=3, max_position_embeddings=64, rope_parameters=rope
    )


@pytest.mark.parametrize("factor", [1.0, 2.0, 8.0, 40.0])
@pytest.mark.peer(
    "07", "`interpolate_positions`", "transformers' rope type linear", "float64 1e-7", "angles"
)
def test_linear_scaling_is_transformers_own(factor) -> None:
    rope = {"rope_type": "linear", "rope_theta": 10000.0, "factor": factor}
    theirs, magnitude = ROPE_INIT_FUNCTIONS["linear"](llama(rope, 64))
    places = torch.arange(60.0, dtype=torch.float64)
    angles = interpolate_positions(places, 64, int(64 * factor)).outer(rope_frequencies(64))
    torch.testing.assert_close(angles, places.outer(theirs))
    assert magnitude == 1.0


@pytest.mark.parametrize("length", [65, 128, 1000])
@pytest.mark.peer(
    "07", "`ntk_base`", "transformers' rope type dynamic", "float64 1e-7", "frequencies"
)
def test_the_ntk_aware_base_is_transformers_dynamic_one(length) -> None:
    rope = {"rope_type": "dynamic", "rope_theta": 10000.0, "factor": 1.0}
    theirs, _ = ROPE_INIT_FUNCTIONS["dynamic"](llama(rope, 64), seq_len=length)
    ours = rope_frequencies(64, ntk_base(10000.0, 64, length / 64))
    torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("d_k", [8, 64, 128])
@pytest.mark.parametrize("factor", [1.0, 8.0, 32.0])
@pytest.mark.parametrize("bounds", [(1.0, 4.0), (0.3, 20.0)])
@pytest.mark.parametrize("trained", [64, 8192])
@pytest.mark.peer(
    "07", "`llama3_frequencies`", "transformers' rope type llama3", "float64 1e-7", "frequencies"
)
def test_llama3_is_transformers_own(d_k, factor, bounds, trained) -> None:
    low, high = bounds
    rope = {
        "rope_type": "llama3", "rope_theta": 500_000.0, "factor": factor, "low_freq_factor": low,
        "high_freq_factor": high, "original_max_position_embeddings": trained,
    }  # fmt: skip
    theirs, magnitude = ROPE_INIT_FUNCTIONS["llama3"](llama(rope, d_k))
    own = rope_frequencies(d_k, 500_000.0)
    torch.testing.assert_close(llama3_frequencies(own, factor, low, high, trained), theirs)
    assert magnitude == 1.0


@pytest.mark.parametrize("truncate", [True, False])
@pytest.mark.parametrize("d_k", [8, 64, 128])
@pytest.mark.parametrize("fast", [32.0, 8.0])
@pytest.mark.parametrize(
    ("factor", "trained"), [(2.0, 64), (16.0, 64), (2.0, 2048), (32.0, 4096), (16.0, 8192)]
)
@pytest.mark.peer(
    "07", "`yarn_frequencies`, `yarn_magnitude`", "transformers' rope type yarn, truncated or not",
    "float64 1e-7", "frequencies, magnitude",
)  # fmt: skip
def test_yarn_is_transformers_own(factor, trained, fast, d_k, truncate) -> None:
    rope = {
        "rope_type": "yarn", "rope_theta": 150_000.0, "factor": factor, "beta_fast": fast,
        "beta_slow": 1.0, "truncate": truncate, "original_max_position_embeddings": trained,
    }  # fmt: skip
    config = GptOssConfig(head_dim=d_k, rope_parameters=rope)
    theirs, magnitude = ROPE_INIT_FUNCTIONS["yarn"](config)
    how = {"factor": factor, "trained_length": trained, "fast": fast, "truncate": truncate}
    torch.testing.assert_close(yarn_frequencies(d_k, base=150_000.0, **how), theirs)
    torch.testing.assert_close(yarn_magnitude(factor), magnitude)
