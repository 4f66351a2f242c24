"""Small random models of current families, as transformers makes and writes them."""

from pathlib import Path
from typing import Any

import torch
from torch import nn
from transformers import (
    AutoModelForCausalLM,
    DeepseekV3Config,
    DeepseekV32Config,
    Gemma2Config,
    Gemma3TextConfig,
    Gemma4TextConfig,
    GptOssConfig,
    KimiLinearConfig,
    LlamaConfig,
    MistralConfig,
    Olmo2Config,
    Olmo3Config,
    Phi3Config,
    PreTrainedConfig,
    Qwen2Config,
    Qwen3_5TextConfig,
    Qwen3Config,
    Qwen3NextConfig,
    SmolLM3Config,
)

TOKENS, LAYERS = 37, 4
SIZES = {
    "vocab_size": TOKENS, "hidden_size": 24, "num_attention_heads": 6, "num_key_value_heads": 3,
    "num_hidden_layers": LAYERS, "intermediate_size": 40, "max_position_embeddings": 64,
    "bos_token_id": None, "eos_token_id": None, "pad_token_id": None,
    "attn_implementation": "eager", "experts_implementation": "eager",
}  # fmt: skip
LLAMA_3_ROPE = {
    "rope_type": "llama3", "rope_theta": 500.0, "factor": 8.0, "low_freq_factor": 1.0,
    "high_freq_factor": 4.0, "original_max_position_embeddings": 16,
}  # fmt: skip
YARN = {
    "rope_type": "yarn", "rope_theta": 150.0, "factor": 4.0, "beta_fast": 32.0, "beta_slow": 1.0,
    "truncate": False, "original_max_position_embeddings": 16,
}  # fmt: skip
LONGROPE = {
    "rope_type": "longrope", "rope_theta": 500.0, "short_factor": [1.0, 1.25, 1.5],
    "long_factor": [2.0, 3.0, 5.0],
}  # fmt: skip
BASE = {"rope_type": "default", "rope_theta": 500.0}
PAIR = ["sliding_attention", "full_attention"]
CONFIGS: dict[str, tuple[type[PreTrainedConfig], dict]] = {
    "Llama 3": (LlamaConfig, {"rope_parameters": LLAMA_3_ROPE, "rms_norm_eps": 1e-3}),
    "Mistral": (MistralConfig, {"sliding_window": 5, "head_dim": 10, "rope_parameters": BASE}),
    "Qwen 2": (Qwen2Config, {"rope_parameters": BASE}),
    "Qwen 2, windows from layer 2 on": (
        Qwen2Config, {"use_sliding_window": True, "sliding_window": 4, "max_window_layers": 2},
    ),
    "Qwen 3": (Qwen3Config, {"head_dim": 10, "rope_parameters": BASE, "tie_word_embeddings": True}),
    "Gemma 2": (
        Gemma2Config,
        {"head_dim": 10, "sliding_window": 5, "query_pre_attn_scalar": 7,
         "attn_logit_softcapping": 2.0, "final_logit_softcapping": 3.0, "rope_parameters": BASE},
    ),
    "Gemma 3": (
        Gemma3TextConfig,
        {"head_dim": 10, "sliding_window": 5, "query_pre_attn_scalar": 7,
         "layer_types": [PAIR[0], PAIR[0], PAIR[1], PAIR[0]],
         "rope_parameters": {
             PAIR[0]: {"rope_type": "default", "rope_theta": 100.0},
             PAIR[1]: {"rope_type": "linear", "rope_theta": 1000.0, "factor": 8.0},
         }},
    ),
    "gpt-oss": (
        GptOssConfig,
        {"head_dim": 10, "sliding_window": 5, "num_local_experts": 5, "num_experts_per_tok": 2,
         "rope_parameters": YARN},
    ),
}  # fmt: skip

LATENT = {
    "num_key_value_heads": 6, "kv_lora_rank": 10, "q_lora_rank": 14, "qk_rope_head_dim": 4,
    "qk_nope_head_dim": 5, "v_head_dim": 9, "first_k_dense_replace": 1, "n_routed_experts": 8,
    "n_shared_experts": 2, "num_experts_per_tok": 3, "moe_intermediate_size": 11, "n_group": 4,
    "topk_group": 2,
}  # fmt: skip
DELTA = {
    "head_dim": 8, "rope_parameters": BASE | {"partial_rotary_factor": 0.5},
    "layer_types": ["linear_attention", "linear_attention", PAIR[1], "linear_attention"],
    "linear_num_key_heads": 2, "linear_num_value_heads": 4, "linear_key_head_dim": 5,
    "linear_value_head_dim": 7, "linear_conv_kernel_dim": 3,
}  # fmt: skip
KIMI_LACKS = ("first_k_dense_replace", "n_routed_experts")
NEWER: dict[str, tuple[type[PreTrainedConfig], dict]] = {
    "DeepSeek V3": (
        DeepseekV3Config, LATENT | {"rope_parameters": BASE, "routed_scaling_factor": 1.7},
    ),
    "DeepSeek V3, halves, YaRN that sharpens scores, gates as they are": (
        DeepseekV3Config,
        LATENT | {
            "rope_interleave": False, "norm_topk_prob": False, "n_group": 1, "topk_group": 1,
            "rope_parameters": YARN | {"mscale": 0.7, "mscale_all_dim": 1.3},
        },
    ),
    "Qwen 3-Next": (
        Qwen3NextConfig,
        DELTA | {"num_experts": 5, "num_experts_per_tok": 2, "moe_intermediate_size": 11,
                 "shared_expert_intermediate_size": 13, "mlp_only_layers": [2]},
    ),
    "Qwen 3.5": (
        Qwen3_5TextConfig, DELTA | {"tie_word_embeddings": True, "linear_conv_kernel_dim": 2},
    ),
    "DeepSeek V3, queries of the stream": (
        DeepseekV3Config, LATENT | {"q_lora_rank": None, "rope_parameters": BASE},
    ),
    "DeepSeek V3.2": (
        DeepseekV32Config,
        LATENT | {"index_topk": 4, "index_n_heads": 8, "index_head_dim": 7,
                  "rope_parameters": YARN | {"mscale": 1.0, "mscale_all_dim": 1.0}},
    ),
    "Gemma 4, keys as values where a layer sees everything": (
        Gemma4TextConfig,
        {"head_dim": 8, "global_head_dim": 12, "num_global_key_value_heads": 2,
         "attention_k_eq_v": True, "hidden_size_per_layer_input": 0, "sliding_window": 5,
         "layer_types": [*PAIR, *PAIR], "final_logit_softcapping": 3.0,
         "rope_parameters": {
             PAIR[0]: BASE,
             PAIR[1]: {"rope_type": "proportional", "partial_rotary_factor": 0.5,
                       "rope_theta": 200.0},
         }},
    ),
    "Kimi Linear": (
        KimiLinearConfig,
        {name: width for name, width in LATENT.items() if name not in KIMI_LACKS}
        | {"num_local_experts": 8, "layer_types": DELTA["layer_types"], "linear_head_dim": 5,
           "linear_num_heads": 2, "linear_conv_kernel_dim": 3, "q_lora_rank": None,
           "mlp_layer_types": ["dense", "sparse", "dense", "sparse"]},
    ),
    "OLMo 2": (Olmo2Config, {"rope_parameters": BASE, "rms_norm_eps": 1e-3}),
    "OLMo 3, stretched where a layer sees everything": (
        Olmo3Config,
        {"sliding_window": 5, "layer_types": [PAIR[0], PAIR[0], PAIR[1], PAIR[0]],
         "rope_parameters": {PAIR[0]: BASE, PAIR[1]: YARN}},
    ),
    "Phi-3": (Phi3Config, {"sliding_window": 5, "rope_parameters": BASE}),
    "Phi-3, longrope on a part of each head": (
        Phi3Config,
        {"hidden_size": 48, "original_max_position_embeddings": 32,
         "rope_parameters": LONGROPE | {"partial_rotary_factor": 0.75}},
    ),
    "SmolLM 3": (SmolLM3Config, {"no_rope_layer_interval": 3, "rope_parameters": BASE}),
    "SmolLM 3, windows where it does not rotate": (
        SmolLM3Config,
        {"no_rope_layers": [1, 0, 0, 1], "use_sliding_window": True, "sliding_window": 5,
         "tie_word_embeddings": False, "rope_parameters": BASE},
    ),
}  # fmt: skip


def their_model(name: str, **more: Any) -> nn.Module:
    """Return a random model in float64, every parameter drawn so that it counts."""
    kind, changed = (CONFIGS | NEWER)[name]
    changed = changed | more
    torch.manual_seed(0)
    theirs = AutoModelForCausalLM.from_config(kind(**(SIZES | changed)))
    for part, parameter in theirs.named_parameters():
        centred = name in ("Gemma 2", "Gemma 3") or not part.endswith("norm.weight")
        std = 0.6 if parameter.dim() > 1 and "bias" not in part else 0.2
        if "Gemma" in name and "embed" in part:
            std = 0.1  # tied and scaled, larger ones would have every token follow itself
        nn.init.normal_(parameter, 0.0 if centred else 1.0, std)
    for part, buffer in theirs.named_buffers():
        if part.endswith("correction_bias"):
            nn.init.normal_(buffer, 0.0, 0.2)
        if part.endswith("layer_scalar"):
            nn.init.normal_(buffer, 1.0, 0.2)
    theirs = theirs.double().eval()
    if "Gemma" in name:  # theirs is √24 rounded to float32
        theirs.model.embed_tokens.embed_scale = torch.tensor(24.0, dtype=torch.float64).sqrt()
    return theirs


def saved(name: str, folder: Path, **more: Any) -> nn.Module:
    """Write such a model to a folder, and return it."""
    theirs = their_model(name, **more)
    theirs.save_pretrained(folder)
    return theirs
