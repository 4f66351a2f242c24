"""A config.json of DeepSeek V3 or V3.2, read as a design: latent attention, experts, the indexer.

Source: configuration_deepseek_v3.py and configuration_deepseek_v32.py of
    https://github.com/huggingface/transformers
Ours / theirs: see `read_deepseek`, line by line
Differs: heads for several tokens at once (num_nextn_predict_layers) are not read
Same contract as: DeepseekV3Config and DeepseekV32Config
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from torch import nn

from course_utils.models.released.families.llama_design import Design, LayerKind
from course_utils.models.released.families.llama_rope import configured_rope
from course_utils.models.released.families.settings import Config, check_settings, rope_settings
from course_utils.models.released.layers.indexed_layer import IndexedLayerAttention
from course_utils.models.released.layers.latent_layer import LatentLayerAttention
from course_utils.models.released.layers.shared_experts import SharedExperts, SigmoidRouter
from course_utils.positions import yarn_magnitude

REQUIRED: dict[str, tuple[Any, ...]] = {  # the first value is what a config without it means
    "hidden_act": ("silu",),
    "attention_bias": (False,),
    "quantization_config": (None,),
    "scoring_func": ("sigmoid",),
    "topk_method": ("noaux_tc",),
    "moe_layer_freq": (1,),
}

INDEXED = "indexed_attention"
REQUIRED_INDEXED: dict[str, tuple[Any, ...]] = {"mlp_bias": (False,), "rope_interleave": (True,)}


def read_deepseek(config: Config) -> Design:
    """Return the design that a config.json of DeepSeek V3 or of V3.2 describes.

    Args:
        config: What the file holds.

    Raises:
        ValueError: A field has a value that ours does not support.
    """
    check_settings(config, REQUIRED)
    rope, d_rope = rope_settings(config), config["qk_rope_head_dim"]
    indexed = config["model_type"] == "deepseek_v32"
    if indexed:
        check_settings(config, REQUIRED_INDEXED)
        if config["q_lora_rank"] is None:
            raise ValueError("q_lora_rank must be a width for our indexer, got None")
    pairing = "interleaved" if config.get("rope_interleave", True) else "split halves"
    d_k = config["qk_nope_head_dim"]
    widths = {
        "d_latent": config["kv_lora_rank"], "d_query": config["q_lora_rank"], "d_rope": d_rope,
        "d_k": d_k, "d_v": config["v_head_dim"], "scale": _scale(rope, d_k + d_rope),
    }  # fmt: skip
    attention: Callable[..., nn.Module] = partial(LatentLayerAttention, **widths)
    if indexed:
        attention = partial(IndexedLayerAttention, index=_index(config), **widths)
    dense, layers = config.get("first_k_dense_replace", 3), config["num_hidden_layers"]
    parts = config.get("mlp_layer_types") or ["dense"] * dense + ["sparse"] * layers
    experts = partial(_experts, config)
    return Design(
        d_k=d_rope,
        eps=config.get("rms_norm_eps", 1e-6),
        positions=configured_rope(rope, ("mscale", "mscale_all_dim"), pairing=pairing),
        kinds=tuple(
            LayerKind(attention=attention, feed_forward=experts if part == "sparse" else None)
            for part in parts[:layers]
        ),
        tied=config.get("tie_word_embeddings", False),
    )


def _index(config: Config) -> dict[str, int]:
    """Return the widths of V3.2's indexer."""
    kinds = config.get("layer_types") or [INDEXED]
    for kind in kinds:
        if kind != INDEXED:
            raise ValueError(f"layer_types must hold {INDEXED} for our model, got {kind!r}")
    return {
        "num_heads": config["index_n_heads"],
        "d_index": config["index_head_dim"],
        "chosen": config["index_topk"],
    }


def _scale(rope: Config, width: int) -> float | None:
    """Return the factor on the scores: with YaRN, they are sharpened here and not by rotation."""
    kind, share = rope.get("rope_type", rope.get("type", "default")), rope.get("mscale_all_dim")
    if kind == "default" or not share:
        return None
    return width**-0.5 * (1 + share * (yarn_magnitude(rope["factor"]) - 1)) ** 2


def _experts(config: Config, d_model: int, d_ff: int) -> nn.Module:
    """Return the feed-forward layer of the later layers; d_ff is that of the first ones only."""
    width = config["moe_intermediate_size"]
    router = SigmoidRouter(
        d_model, config["n_routed_experts"], config["num_experts_per_tok"],
        groups=config["n_group"], kept_groups=config["topk_group"],
        factor=config["routed_scaling_factor"], shared_out=config.get("norm_topk_prob", True),
    )  # fmt: skip
    return SharedExperts(d_model, width, router, width * config["n_shared_experts"])
