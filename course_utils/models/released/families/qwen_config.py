"""A config.json of Qwen 3-Next or Qwen 3.5, read as a design: states and gated attention, mixed.

Source: configuration_qwen3_next.py and configuration_qwen3_5.py of
    https://github.com/huggingface/transformers
Ours / theirs: see `read_qwen`, line by line
Differs: text only, so the three grids of mrope are one; heads for several tokens are not read
Same contract as: Qwen3NextConfig and Qwen3_5TextConfig
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from torch import nn

from course_utils.models.released.families.llama_design import Design, LayerKind
from course_utils.models.released.families.llama_rope import configured_rope
from course_utils.models.released.families.settings import (
    Config,
    check_layer_types,
    check_settings,
    rope_settings,
)
from course_utils.models.released.layers.delta_layer import DeltaLayerAttention
from course_utils.models.released.layers.gemma_parts import CentredNorm
from course_utils.models.released.layers.llama_attention import GatedLlamaAttention
from course_utils.models.released.layers.shared_experts import SharedExperts, SoftmaxRouter

STATE, FULL = "linear_attention", "full_attention"
REQUIRED: dict[str, tuple[Any, ...]] = {  # the first value is what a config without it means
    "hidden_act": ("silu",),
    "attention_bias": (False,),
    "norm_topk_prob": (True,),
    "quantization_config": (None,),
}


def read_qwen(config: Config) -> Design:
    """Return the design that a config.json of Qwen 3-Next or of Qwen 3.5's text model describes.

    Args:
        config: What the file holds.

    Raises:
        ValueError: A field has a value that ours does not support.
    """
    check_settings(config, REQUIRED)
    eps, share = config.get("rms_norm_eps", 1e-6), config.get("partial_rotary_factor", 0.25)
    rope = {"partial_rotary_factor": share} | rope_settings(config)
    state = partial(
        DeltaLayerAttention, eps=eps,
        key_heads=config.get("linear_num_key_heads", 16),
        value_heads=config.get("linear_num_value_heads", 32),
        d_k=config.get("linear_key_head_dim", 128), d_v=config.get("linear_value_head_dim", 128),
        taps=config.get("linear_conv_kernel_dim", 4),
    )  # fmt: skip
    made: dict[str, Callable[..., nn.Module]] = {STATE: state, FULL: GatedLlamaAttention}
    every, layers = config.get("full_attention_interval", 4), config["num_hidden_layers"]
    kinds = config.get("layer_types") or [
        STATE if (number + 1) % every else FULL for number in range(layers)
    ]
    check_layer_types(kinds, made)
    return Design(
        d_k=config.get("head_dim", 256),
        eps=eps,
        positions=configured_rope(rope, ("partial_rotary_factor",)),
        kinds=tuple(
            LayerKind(
                attention=made[kind],
                feed_forward=partial(_experts, config) if _has_experts(config, number) else None,
            )
            for number, kind in enumerate(kinds)
        ),
        norm=CentredNorm,
        head_norm=CentredNorm,
        tied=config.get("tie_word_embeddings", False),
    )


def _has_experts(config: Config, number: int) -> bool:
    """Return whether this layer of a Qwen 3-Next has experts; Qwen 3.5 has them in no layer."""
    if config["model_type"] != "qwen3_next" or number in (config.get("mlp_only_layers") or ()):
        return False
    every = config.get("decoder_sparse_step", 1)
    return config.get("num_experts", 512) > 0 and (number + 1) % every == 0


def _experts(config: Config, d_model: int, d_ff: int) -> nn.Module:
    """Return the feed-forward layer with experts; d_ff is that of layers without them."""
    chosen = config.get("num_experts", 512), config.get("num_experts_per_tok", 10)
    return SharedExperts(
        d_model, config.get("moe_intermediate_size", 512), SoftmaxRouter(d_model, *chosen),
        config.get("shared_expert_intermediate_size", 512), gated=True,
    )  # fmt: skip
