"""Rescaled RoPE, and RoPE on a part of each head, beside transformers' code in float64."""

import pytest
import torch
from torch import Tensor
from transformers import GPTNeoXConfig, GptOssConfig, LlamaConfig, Phi3Config, PhiConfig
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS
from transformers.models.gpt_neox import modeling_gpt_neox
from transformers.models.phi import modeling_phi

from course_utils.positions import (
    PartialRotaryPositions,
    interpolate_positions,
    llama3_frequencies,
    longrope_frequencies,
    longrope_magnitude,
    ntk_base,
    rope_frequencies,
    yarn_frequencies,
    yarn_magnitude,
)

PLACES = torch.tensor([[0, 1, 2, 3, 4], [7, 3, 300, 5, 11]])


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


@pytest.mark.parametrize("length", [None, 64, 65])
@pytest.mark.parametrize("factor", [1.0, 4.0, 32.0])
@pytest.mark.peer(
    "07", "`longrope_frequencies`, `longrope_magnitude`",
    "transformers' rope type longrope, both lists", "float64 1e-7", "frequencies, magnitude",
)  # fmt: skip
def test_longrope_is_transformers_own(length, factor) -> None:
    lists = {
        "short_factor": (1 + torch.rand(4)).tolist(), "long_factor": (2 + torch.rand(4)).tolist()
    }  # fmt: skip
    config = Phi3Config(
        hidden_size=24, num_attention_heads=3, max_position_embeddings=int(64 * factor),
        original_max_position_embeddings=64, pad_token_id=None,
        rope_parameters={
            "rope_type": "longrope", "rope_theta": 10000.0, "factor": factor,
            "original_max_position_embeddings": 64, **lists,
        },
    )  # fmt: skip
    theirs, magnitude = ROPE_INIT_FUNCTIONS["longrope"](config, seq_len=length)
    used = lists["long_factor" if length is not None and length > 64 else "short_factor"]
    torch.testing.assert_close(longrope_frequencies(8, used), theirs)
    torch.testing.assert_close(longrope_magnitude(factor, 64), magnitude)


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


@pytest.mark.parametrize(
    ("config", "code", "kind"),
    [
        (GPTNeoXConfig, modeling_gpt_neox, "GPTNeoXRotaryEmbedding"),
        (PhiConfig, modeling_phi, "PhiRotaryEmbedding"),
    ],
)
@pytest.mark.parametrize("share", [0.25, 0.5, 1.0])
@pytest.mark.peer(
    "07", "`PartialRotaryPositions`", "GPT-NeoX's and Phi's rotation, exact in float64",
    "float64 1e-7", "outputs, gradients",
)  # fmt: skip
def test_partial_rotation_is_theirs(config, code, kind, share) -> None:
    made = config(hidden_size=48, num_attention_heads=3)
    made.rope_parameters = {
        "rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": share
    }  # fmt: skip
    query, key = (torch.randn(2, h, 5, 16, dtype=torch.float64).requires_grad_() for h in (3, 2))
    rotary, (cos, sin) = int(16 * share), getattr(code, kind)(made)(query, PLACES)
    if kind.startswith("GPT"):
        theirs = code.apply_rotary_pos_emb(query, key, cos, sin)
    else:  # Phi cuts in its attention
        turned = code.apply_rotary_pos_emb(query[..., :rotary], key[..., :rotary], cos, sin)
        theirs = tuple(
            torch.cat((one, x[..., rotary:]), dim=-1)
            for one, x in zip(turned, (query, key), strict=True)
        )
    ours = PartialRotaryPositions(rotary).rotate(query, key, PLACES, PLACES)
    torch.testing.assert_close(ours, theirs)
    slopes = [torch.randn_like(one) for one in ours]
    got = torch.autograd.grad(ours, (query, key), slopes, retain_graph=True)
    torch.testing.assert_close(got, torch.autograd.grad(theirs, (query, key), slopes))
