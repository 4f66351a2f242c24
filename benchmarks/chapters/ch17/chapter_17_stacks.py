"""Write down what each layer of published stacks is and keeps, from configurations.

A row is a configuration class of `transformers` with its defaults, or with what the model's own
configuration says instead; the source says which. What a layer keeps is counted from the sizes
there; a test holds the counts against the caches of small models. Nothing is downloaded:

    python -m benchmarks.chapters.ch17.chapter_17_stacks
"""

from collections import Counter
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import transformers
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

from benchmarks.recording import Row, Script

BYTES = 2  # per number, whatever a library keeps its states in
FULL, NEAR, LINEAR = "full_attention", "sliding_attention", "linear_attention"
DELTA, MAMBA, MAMBA_2 = "gated delta rule", "Mamba", "Mamba-2"
CHANNELS = "gated delta rule, gate per channel"
NOT_MIXING = ("moe", "mlp")


class Stack(NamedTuple):
    """A published stack.

    Attributes:
        model: What it is called.
        kind: The `model_type` of its configuration.
        words: What its kinds of layers are called here.
        changes: What differs from the defaults.
        source: Where that is from.
    """

    model: str
    kind: str
    words: Mapping[str, str] = MappingProxyType({})
    changes: Mapping[str, Any] = MappingProxyType({})
    source: str = "the class's defaults"


def among(layers: int, full: range | tuple[int, ...], other: str) -> list[str]:
    """Return a list of layers of which some are full, counted from 0."""
    return [FULL if at in full else other for at in range(layers)]


COPY = "a copy of its config.json"
STACKS = (
    Stack("Gemma 2 2B", "gemma2", {NEAR: "window of 4,096"}),
    Stack("Gemma 3 (default)", "gemma3_text", {NEAR: "window of 4,096"}),
    Stack("Gemma 4 (default)", "gemma4_text", {NEAR: "window of 512"}),
    Stack("gpt-oss 120B", "gpt_oss", {NEAR: "window of 128"}),
    Stack("Olmo 3 7B", "olmo3", {NEAR: "window of 4,096"}),
    Stack("Llama 4 Scout", "llama4_text",
          {"chunked_attention": "chunks of 8,192"}),
    Stack("SmolLM 3 3B", "smollm3"),
    Stack("DeepSeek-V3", "deepseek_v3", {FULL: "latent"}),
    Stack("DeepSeek-V3.2", "deepseek_v32", {"indexed_attention": "latent, 2,048 tokens chosen"}),
    Stack("DeepSeek-V4 (default)", "deepseek_v4",
          {"heavily_compressed_attention": "pooled by 128, window of 128",
           "compressed_sparse_attention": "pooled by 4, 512 chosen, window of 128"}),
    Stack("MiniMax-Text-01", "minimax", {LINEAR: "lightning attention"},
          {"layer_types": among(80, range(7, 80, 8), LINEAR), "num_hidden_layers": 80,
           "hidden_size": 6144, "num_attention_heads": 64, "head_dim": 128,
           "num_local_experts": 32}, "the sizes of its model card"),
    Stack("MiniMax-M2", "minimax_m2"),
    Stack("MiniMax-M3", "minimax_m3_vl_text", {"minimax_m3_sparse": "16 blocks of 128 chosen"},
          {"layer_types": among(60, range(3), "minimax_m3_sparse")},
          "the class's defaults; which layers are sparse, from TensorRT-LLM's documentation"),
    Stack("Qwen3-Next 80B", "qwen3_next", {LINEAR: DELTA, FULL: "gated full"}),
    Stack("Qwen3.5 (default)", "qwen3_5_text", {LINEAR: DELTA, FULL: "gated full"}),
    Stack("Qwen3.5 MoE (default)", "qwen3_5_moe_text", {LINEAR: DELTA, FULL: "gated full"}),
    Stack("Olmo Hybrid 7B", "olmo_hybrid", {LINEAR: DELTA}),
    Stack("Kimi Linear (default)", "kimi_linear",
          {LINEAR: CHANNELS, FULL: "latent, no positions"}),
    Stack("Ling hybrid (default)", "bailing_hybrid", {LINEAR: CHANNELS, FULL: "latent"}),
    Stack("Jamba v0.1", "jamba", {LINEAR: MAMBA}),
    Stack("Falcon-H1 (default)", "falcon_h1", {"hybrid": "attention and Mamba-2 side by side"}),
    Stack("Nemotron-H 8B", "nemotron_h", {LINEAR: MAMBA_2, "mlp": "feed-forward"},
          {"hybrid_override_pattern": "M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M-",
           "n_groups": 8}, "its layers from vLLM's documentation, its groups not looked up"),
    Stack("Granite 4-H Micro", "granitemoehybrid", {LINEAR: MAMBA_2, FULL: "full, no positions"},
          {"layer_types": among(40, (5, 15, 25, 35), LINEAR), "num_hidden_layers": 40,
           "hidden_size": 2048, "num_attention_heads": 32, "num_key_value_heads": 8,
           "mamba_n_heads": 64, "mamba_d_head": 64, "mamba_d_state": 128, "num_local_experts": 0},
          COPY),
    Stack("LFM2 1.2B", "lfm2", {"conv": "short convolution"},
          {"layer_types": among(16, (2, 5, 8, 10, 12, 14), "conv"), "num_hidden_layers": 16,
           "hidden_size": 2048}, COPY),
    Stack("LFM3 (default)", "lfm3", {"conv": "short convolution", NEAR: "window of 256"}),
    Stack("RecurrentGemma (default)", "recurrent_gemma",
          {LINEAR: "RG-LRU", NEAR: "window of 2,048"}),
)  # fmt: skip


def kept(layer: Any, kind: str) -> tuple[int, int]:
    """Return how many numbers a layer keeps for each token, and how many whatever the length.

    Args:
        layer: Its configuration.
        kind: What it is, as in `layer_types`.
    """
    if kind in NOT_MIXING:
        return 0, 0
    if kind == "conv":
        return 0, layer.hidden_size * layer.conv_L_cache
    if kind == LINEAR:
        return 0, state(layer)
    if kind == "hybrid":
        return keys(layer), state(layer)
    if kind == NEAR:
        return 0, keys(layer) * (getattr(layer, "sliding_window", None) or window(layer))
    if kind == "chunked_attention":
        return 0, keys(layer) * layer.attention_chunk_size
    if kind in ("indexed_attention", "minimax_m3_sparse"):
        return keys(layer) + layer.index_head_dim, 0
    if kind.endswith(("compressed_attention", "compressed_sparse_attention")):
        own = layer.head_dim + layer.index_head_dim * ("sparse" in kind)
        return own // layer.compress_rates[kind], layer.head_dim * layer.sliding_window
    return keys(layer), 0


def window(layer: Any) -> int:
    """Return the window of RecurrentGemma, which has a name of its own for it."""
    return int(layer.attention_window_size)


def keys(layer: Any) -> int:
    """Return how many numbers of a token attention keeps: keys and values, or one latent vector."""
    if getattr(layer, "kv_lora_rank", None):
        return int(layer.kv_lora_rank + layer.qk_rope_head_dim)
    width = getattr(layer, "head_dim", None) or layer.hidden_size // layer.num_attention_heads
    return int(2 * layer.num_key_value_heads * width)


def state(layer: Any) -> int:
    """Return how many numbers a state has, with the inputs that its short convolution holds."""
    if hasattr(layer, "linear_num_value_heads"):  # the gated delta rule
        key = layer.linear_num_key_heads * layer.linear_key_head_dim
        value = layer.linear_num_value_heads * layer.linear_value_head_dim
        convolved = (2 * key + value) * layer.linear_conv_kernel_dim
        return int(value * layer.linear_key_head_dim + convolved)
    if hasattr(layer, "linear_num_heads"):  # the same with a gate for each channel
        inner = layer.linear_num_heads * layer.linear_head_dim
        return int(inner * (layer.linear_head_dim + 3 * layer.linear_conv_kernel_dim))
    if hasattr(layer, "lru_width"):
        return int(layer.lru_width * (1 + layer.conv1d_width))
    if hasattr(layer, "mamba_num_heads"):  # Mamba-2 in Nemotron-H
        inner, size = layer.mamba_num_heads * layer.mamba_head_dim, layer.ssm_state_size
        return int(inner * size + (inner + 2 * layer.n_groups * size) * layer.conv_kernel)
    if hasattr(layer, "mamba_n_heads"):  # Mamba-2
        inner, size = layer.mamba_n_heads * layer.mamba_d_head, layer.mamba_d_state
        return int(inner * size + (inner + 2 * layer.mamba_n_groups * size) * layer.mamba_d_conv)
    if hasattr(layer, "mamba_d_state"):  # Mamba
        inner = layer.mamba_expand * layer.hidden_size
        return int(inner * (layer.mamba_d_state + layer.mamba_d_conv))
    return int(layer.num_attention_heads * layer.head_dim**2)  # lightning attention


def experts(config: Any) -> str:
    """Return how many experts a token goes to, of how many; or nothing."""
    names = ("n_routed_experts", "num_local_experts", "num_experts")
    total = next((getattr(config, one) for one in names if getattr(config, one, None)), 0)
    names = ("num_experts_per_tok", "num_experts_per_token")
    chosen = next((getattr(config, one) for one in names if getattr(config, one, None)), 0)
    mixes = "moe" in layers_of(config) or config.model_type != "nemotron_h"
    return f"{chosen} of {total}" if total and mixes else ""


def layers_of(config: Any) -> list[str]:
    """Return the kind of each layer."""
    return getattr(config, "layer_types", None) or [FULL] * config.num_hidden_layers


def described(stack: Stack) -> Row:
    """Return one line of the record: the layers of each kind, and what they keep."""
    if stack.kind == "minimax_m3_vl_text":
        config = type(CONFIG_MAPPING["minimax_m3_vl"]().text_config)(**stack.changes)
    else:
        config = CONFIG_MAPPING[stack.kind](**stack.changes)
    kinds = layers_of(config)
    numbers = [kept(*one) for one in zip(config.per_layer_config, kinds, strict=True)]
    grows, fixed = (BYTES * sum(part) for part in zip(*numbers, strict=True))
    words = {FULL: "full attention", "moe": "experts", **stack.words}
    rotated = getattr(config, "no_rope_layers", None) or [1] * len(kinds)
    called = [words[kind] + ", no positions" * (not one)
              for kind, one in zip(kinds, rotated, strict=True)]  # fmt: skip
    source = f"transformers, {stack.kind}: {stack.source}"
    return {
        "model": stack.model, "layers": len(kinds),
        "counts": dict(Counter(called)),
        "full": [place for place, kind in enumerate(kinds, 1) if kind in (FULL, "hybrid")],
        "bytes_per_token": grows, "bytes_fixed": fixed, "experts": experts(config),
        "source": source,
    }  # fmt: skip


def main() -> None:
    """Read every configuration."""
    script = Script(__file__, __doc__)
    script.record(
        what="what each layer of published stacks is and keeps",
        settings={"bytes_per_number": BYTES},
        versions={"transformers": transformers.__version__},
        runs=[described(stack) for stack in STACKS],
    )


if __name__ == "__main__":
    main()
