"""A config.json of Kimi Linear, read as a design: states, latent attention, experts.

Source: configuration_kimi_linear.py of https://github.com/huggingface/transformers
Ours / theirs: see `read_kimi`, line by line
Same contract as: KimiLinearConfig
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from torch import nn

from course_utils.models.released.families.llama_design import Design, LayerKind, no_positions
from course_utils.models.released.families.settings import Config, check_layer_types, check_settings
from course_utils.models.released.layers.delta_layer import DeltaLayerAttention
from course_utils.models.released.layers.kimi_delta import KimiDeltaNet
from course_utils.models.released.layers.latent_layer import LatentLayerAttention
from course_utils.models.released.layers.shared_experts import SharedExperts, SigmoidRouter

STATE, FULL = "linear_attention", "full_attention"
REQUIRED: dict[str, tuple[Any, ...]] = {  # the first value is what a config without it means
    "hidden_act": ("silu",),
    "attention_bias": (False,),
    "quantization_config": (None,),
    "mla_use_nope": (True,),
    "moe_router_activation_func": ("sigmoid",),
    "moe_layer_freq": (1,),
}


def read_kimi(config: Config) -> Design:
    """Return the design that a config.json of Kimi Linear describes.

    Args:
        config: What the file holds.

    Raises:
        ValueError: A field has a value that ours does not support.
    """
    check_settings(config, REQUIRED)
    eps, older = config.get("rms_norm_eps", 1e-5), config.get("linear_attn_config") or {}
    state = partial(
        DeltaLayerAttention, mixer=KimiDeltaNet, eps=eps,
        num_heads=older.get("num_heads") or config.get("linear_num_heads", 32),
        d_k=older.get("head_dim") or config.get("linear_head_dim", 128),
        taps=older.get("short_conv_kernel_size") or config.get("linear_conv_kernel_dim", 4),
    )  # fmt: skip
    full = partial(
        LatentLayerAttention, d_latent=config["kv_lora_rank"], d_query=config["q_lora_rank"],
        d_rope=config["qk_rope_head_dim"], d_k=config["qk_nope_head_dim"],
        d_v=config["v_head_dim"],
    )  # fmt: skip
    made: dict[str, Callable[..., nn.Module]] = {STATE: state, FULL: full}
    kinds = config.get("layer_types") or _kinds(older, config["num_hidden_layers"])
    check_layer_types(kinds, made)
    dense = config.get("first_k_dense_replace", 1)
    parts = config.get("mlp_layer_types") or [
        "dense" if number < dense else "sparse" for number in range(len(kinds))
    ]
    return Design(
        d_k=config["qk_rope_head_dim"],
        eps=eps,
        positions=no_positions,
        kinds=tuple(
            LayerKind(
                attention=made[kind],
                feed_forward=partial(_experts, config) if part == "sparse" else None,
            )
            for kind, part in zip(kinds, parts, strict=True)
        ),
        tied=config.get("tie_word_embeddings", False),
    )


def _kinds(older: Config, layers: int) -> list[str]:
    """Return the kind of each layer that a file without `layer_types` implies."""
    if "full_attn_layers" in older:  # counted from 1
        full = {number - 1 for number in older["full_attn_layers"]}
    else:
        full = {number for number in range(1, layers) if number % 4 == 0}
    return [FULL if number in full else STATE for number in range(layers)]


def _experts(config: Config, d_model: int, d_ff: int) -> nn.Module:
    """Return the feed-forward layer with experts; d_ff is that of layers without them."""
    width = config["moe_intermediate_size"]
    router = SigmoidRouter(
        d_model, config["num_experts"], config["num_experts_per_token"],
        groups=config.get("num_expert_group", 1), kept_groups=config.get("topk_group", 1),
        factor=config["routed_scaling_factor"], shared_out=config.get("moe_renormalize", True),
    )  # fmt: skip
    return SharedExperts(d_model, width, router, width * config["num_shared_experts"])
