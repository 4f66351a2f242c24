"""A config.json of Gemma 4's text model, read as a design: two widths of heads, by kind of layer.

Source: configuration_gemma4.py of https://github.com/huggingface/transformers
Ours / theirs: see `read_gemma4`, line by line
Differs: models with embeddings for each layer, shared keys or experts are refused by these fields
Same contract as: Gemma4TextConfig
"""

from functools import partial
from typing import Any

from torch import nn
from torch.nn import functional as F

from course_utils.attention.core.soft_cap import soft_cap
from course_utils.models.released.families.llama_design import Design, LayerKind
from course_utils.models.released.families.llama_rope import configured_rope
from course_utils.models.released.families.settings import Config, check_layer_types, check_settings
from course_utils.models.released.layers.gated_layer import GatedLayer
from course_utils.models.released.layers.gemma4_parts import Gemma4Attention, ScaledSandwichLayer
from course_utils.models.released.layers.gemma_parts import ScaledEmbedding

WINDOWED, FULL = "sliding_attention", "full_attention"
REQUIRED: dict[str, tuple[Any, ...]] = {  # the first value is what a config without it means
    "hidden_activation": ("gelu_pytorch_tanh",),
    "attention_bias": (False,),
    "num_kv_shared_layers": (0,),
    "enable_moe_block": (False,),
    "use_bidirectional_attention": (None, "vision"),
    "quantization_config": (None,),
}
ROPES: dict[str, Config] = {
    WINDOWED: {"rope_type": "default", "rope_theta": 10000.0},
    FULL: {"rope_type": "proportional", "partial_rotary_factor": 0.25, "rope_theta": 1000000.0},
}


def read_gemma4(config: Config) -> Design:
    """Return the design that a config.json of Gemma 4's text model describes.

    Args:
        config: What the file holds.

    Raises:
        ValueError: A field has a value that ours does not support.
    """
    check_settings(config, REQUIRED)
    if config.get("hidden_size_per_layer_input", 256):
        given = config.get("hidden_size_per_layer_input", 256)
        raise ValueError(f"hidden_size_per_layer_input must be 0 for our model, got {given}")
    layers = config["num_hidden_layers"]
    kinds = config.get("layer_types") or [
        FULL if number % 6 == 5 else WINDOWED for number in range(layers)
    ]
    check_layer_types(kinds, (WINDOWED, FULL))
    ropes = config.get("rope_parameters") or ROPES
    made = {kind: configured_rope(ropes[kind], ("partial_rotary_factor",)) for kind in ROPES}
    cap = config.get("final_logit_softcapping")
    return Design(
        d_k=config.get("head_dim", 256),
        eps=config.get("rms_norm_eps", 1e-6),
        positions=made[WINDOWED],
        kinds=tuple(
            LayerKind(
                window=config.get("sliding_window", 512) if kind == WINDOWED else None,
                positions=made[kind] if kind == FULL else None,
                attention=partial(Gemma4Attention, **_widths(config, number, kind)),
            )
            for number, kind in enumerate((*kinds[: layers - 1], FULL))  # the last sees everything
        ),
        head_norm=nn.RMSNorm,
        scale=1.0,
        layer=ScaledSandwichLayer,
        feed_forward=partial(GatedLayer, partial(F.gelu, approximate="tanh")),
        embedding=ScaledEmbedding,
        tied=config.get("tie_word_embeddings", True),
        last_scores=None if cap is None else partial(soft_cap, cap=cap),
    )


def _widths(config: Config, number: int, kind: str) -> dict[str, Any]:
    """Return a layer's widths; those that see everything have others, in one of two fields."""
    same, heads = config.get("attention_k_eq_v", False), config["num_key_value_heads"]
    found = {"head_dim": config.get("head_dim", 256), "num_key_value_heads": heads}
    if kind == FULL:
        if "per_layer_config" in config:
            each = {int(layer): own for layer, own in config["per_layer_config"].items()}
            found |= each.get(number, {})
        else:
            found["head_dim"] = config.get("global_head_dim", 512)
            found["num_key_value_heads"] = (
                config.get("num_global_key_value_heads") if same else None
            ) or heads
    return {
        "d_k": found["head_dim"],
        "num_kv_heads": found["num_key_value_heads"],
        "keys_as_values": same and kind == FULL,
    }
