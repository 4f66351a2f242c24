"""The numbers that a layer is said to keep, against the caches of small models of transformers."""

from typing import Any

import pytest
import torch
from torch import Tensor
from transformers import DynamicCache
from transformers.models.auto.configuration_auto import CONFIG_MAPPING
from transformers.models.auto.modeling_auto import AutoModelForCausalLM

from benchmarks.chapters.ch17.chapter_17_stacks import FULL, LINEAR, NEAR, kept, layers_of

SIZES = {
    "vocab_size": 40, "hidden_size": 32, "intermediate_size": 24, "num_hidden_layers": 4,
    "num_attention_heads": 4, "num_key_value_heads": 2, "pad_token_id": 0, "bos_token_id": 1,
    "eos_token_id": 2,
}  # fmt: skip
LATENT = {
    "kv_lora_rank": 10, "q_lora_rank": 12, "qk_rope_head_dim": 4, "qk_nope_head_dim": 6,
    "v_head_dim": 5, "num_key_value_heads": 4, "n_group": 1, "topk_group": 1,
}  # fmt: skip
EXPERTS = {"num_experts_per_tok": 2, "moe_intermediate_size": 8}
LOCAL, ROUTED, MANY = (
    {name: 4} | EXPERTS for name in ("num_local_experts", "n_routed_experts", "num_experts")
)
DELTA = {
    "linear_num_key_heads": 2, "linear_num_value_heads": 4, "linear_key_head_dim": 6,
    "linear_value_head_dim": 8, "linear_conv_kernel_dim": 3,
    "layer_types": [LINEAR, FULL, LINEAR, FULL],
}  # fmt: skip
MAMBA_2 = {
    "mamba_n_heads": 8, "mamba_d_head": 8, "mamba_d_state": 6, "mamba_n_groups": 2,
    "mamba_d_conv": 3, "mamba_expand": 2, "mamba_chunk_size": 4,
}  # fmt: skip
CHANNELS = {"linear_num_heads": 3, "linear_head_dim": 6, "linear_conv_kernel_dim": 3}
MODELS: dict[str, dict[str, Any]] = {
    "gemma4_text": {
        "sliding_window": 5, "head_dim": 8, "global_head_dim": 12, "vocab_size_per_layer_input": 40,
        "hidden_size_per_layer_input": 4, "layer_types": [NEAR, FULL] * 2,
    },
    "deepseek_v32": {
        **LATENT, **ROUTED, "index_topk": 4, "index_head_dim": 6, "index_n_heads": 2
    },
    "minimax_m2": {"head_dim": 12, **LOCAL},
    "qwen3_next": {**DELTA, **MANY, "shared_expert_intermediate_size": 8},
    "qwen3_5_text": DELTA,
    "olmo_hybrid": DELTA,
    "kimi_linear": {**LATENT, **MANY, **CHANNELS, "layer_types": [LINEAR, FULL] * 2},
    "jamba": {
        "mamba_d_state": 6, "mamba_d_conv": 3, "use_mamba_kernels": False, "num_experts": 2,
        "attn_layer_period": 2, "attn_layer_offset": 1, "num_experts_per_tok": 1,
    },
    "falcon_h1": {**MAMBA_2, "mamba_d_ssm": 64},
    "granitemoehybrid": {**MAMBA_2, "layer_types": [LINEAR, FULL] * 2, "num_local_experts": 0},
    "nemotron_h": {
        "hybrid_override_pattern": "M-*-", "mamba_num_heads": 4, "mamba_head_dim": 8,
        "ssm_state_size": 6, "n_groups": 2, "conv_kernel": 3, "head_dim": 8, "chunk_size": 4,
        "use_mamba_kernels": False,
    },
    "lfm2": {"layer_types": ["conv", FULL] * 2, "conv_L_cache": 3},
}  # fmt: skip
FEW, MORE = 24, 32


def held(layer: Any) -> tuple[int, int]:
    """Return how many numbers a layer's cache holds: keys and values, and states."""
    parts = {}
    for name in ("keys", "values", "indexer_keys"):
        part = getattr(layer, name, None)
        if isinstance(part, Tensor):
            parts[part.data_ptr(), part.shape] = part.numel()
    states = 0
    for name in ("conv_states", "recurrent_states"):
        found = getattr(layer, name, None)
        each = found.values() if isinstance(found, dict) else found or []
        states += sum(one.numel() for one in each if isinstance(one, Tensor))
    return sum(parts.values()), states


@pytest.mark.parametrize("kind", MODELS)
def test_a_layer_keeps_what_is_said(kind) -> None:
    config = CONFIG_MAPPING[kind](**(SIZES | MODELS[kind]))
    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_config(config).eval()
    tokens = torch.randint(3, 40, (1, MORE))
    few, more = (DynamicCache(config=config) for _ in range(2))
    with torch.no_grad():
        model(tokens[:, :FEW], past_key_values=few)
        model(tokens, past_key_values=more)
    kinds = layers_of(config)
    for number, (layer, one) in enumerate(zip(config.per_layer_config, kinds, strict=True)):
        (before, _), (after, states) = held(few.layers[number]), held(more.layers[number])
        grows, fixed = kept(layer, one)
        assert after - before == (MORE - FEW) * grows
        if one == NEAR:  # theirs keeps one token less between two steps
            assert after == fixed - fixed // layer.sliding_window
        else:
            assert states == fixed
