"""A config.json of Llama's descendants, read as a design: what each of its fields changes.

Source: the configuration_*.py of https://github.com/huggingface/transformers
Ours / theirs: see `read_design`, line by line
Differs: fields that only code outside the model reads (dropout, tokens, training) are not
    looked at; a field that would make a model unlike ours must have the value given here
Same contract as: the config classes of transformers
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from course_utils.attention.core.soft_cap import soft_cap
from course_utils.models.released.clamped_experts import ClampedExperts
from course_utils.models.released.composed_heads import capped_attention
from course_utils.models.released.llama_design import Design, LayerKind
from course_utils.models.released.llama_families import FAMILIES
from course_utils.models.released.llama_rope import configured_rope

Config = Mapping[str, Any]

WINDOWED, FULL = "sliding_attention", "full_attention"
SAME_IN_ALL: dict[str, tuple[Any, ...]] = {  # the first value is what a config without it means
    "mlp_bias": (False,),
    "quantization_config": (None,),
    "use_bidirectional_attention": (None, False),
}
GELU: dict[str, tuple[Any, ...]] = {"hidden_activation": ("gelu_pytorch_tanh",)}
SILU: dict[str, tuple[Any, ...]] = {"hidden_act": ("silu",)}
REQUIRED = dict.fromkeys(FAMILIES, SILU) | {
    "llama": SILU | {"attention_bias": (False,)},
    "gemma2": GELU,
    "gemma3_text": GELU,
}


def read_design(config: Config) -> Design:
    """Return the design that a config.json describes.

    Args:
        config: What the file holds.

    Raises:
        ValueError: A field has a value that ours does not support.
    """
    family = config["model_type"]
    check_settings(config, SAME_IN_ALL | REQUIRED[family])
    design = FAMILIES[family]
    ropes = _ropes(config)
    changes: dict[str, Any] = {
        "d_k": config.get("head_dim") or design.d_k,  # left out, the family's own
        "eps": config.get("rms_norm_eps", 1e-6),
        "positions": configured_rope(ropes[FULL]),
        "kinds": tuple(_kinds(config, ropes)),
        "tied": config.get("tie_word_embeddings", design.tied),
    }
    if "attention_bias" in config and family != "qwen2":
        changes["bias"] = changes["out_bias"] = config["attention_bias"]
    if "query_pre_attn_scalar" in config:
        changes["scale"] = config["query_pre_attn_scalar"] ** -0.5
    return replace(design, **changes, **_caps(config), **_experts(config))


def check_settings(config: Config, allowed: Mapping[str, tuple[Any, ...]]) -> None:
    """Raise ValueError unless each field has one of the values; if left out, it has the first."""
    for name, values in allowed.items():
        if config.get(name, values[0]) not in values:
            raise ValueError(f"{name} must be {values[0]!r} for our model, got {config[name]!r}")


def _ropes(config: Config) -> dict[str, Config]:
    """Return the settings of RoPE for both kinds of layers, from the new fields or the old ones."""
    gemma = config["model_type"] == "gemma3_text"
    given = config.get("rope_parameters") or {}
    if FULL in given:
        return {kind: given[kind] for kind in (FULL, WINDOWED)}
    base = {"rope_theta": config.get("rope_theta", 1e6 if gemma else 10000.0)}
    full = base | given | (config.get("rope_scaling") or {})
    near = {"rope_theta": config.get("rope_local_base_freq", 10000.0)}
    return {FULL: full, WINDOWED: near if gemma else full}


def _kinds(config: Config, ropes: Mapping[str, Config]) -> list[LayerKind]:
    window, layers = config.get("sliding_window"), config["num_hidden_layers"]
    kinds = config.get("layer_types") or _pattern(config, layers)
    near = None if ropes[WINDOWED] == ropes[FULL] else configured_rope(ropes[WINDOWED])
    for kind in kinds:
        if kind not in (WINDOWED, FULL):
            raise ValueError(f"layer_types must hold {WINDOWED} or {FULL}, got {kind!r}")
    return [LayerKind(window, near) if kind == WINDOWED else LayerKind() for kind in kinds]


def _pattern(config: Config, layers: int) -> list[str]:
    """Return the kind of each layer that a file without `layer_types` implies."""
    family, window = config["model_type"], config.get("sliding_window")
    if window is None or (family in ("qwen2", "qwen3") and not config.get("use_sliding_window")):
        return [FULL] * layers
    if family in ("qwen2", "qwen3"):
        first = config.get("max_window_layers", 28)
        return [WINDOWED if number >= first else FULL for number in range(layers)]
    if family in ("mistral", "llama"):
        return [WINDOWED] * layers
    every = config.get("sliding_window_pattern", 6) if family == "gemma3_text" else 2
    return [WINDOWED if (number + 1) % every else FULL for number in range(layers)]


def _caps(config: Config) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if "attn_logit_softcapping" in config:
        cap = config["attn_logit_softcapping"]
        found["attend"] = None if cap is None else partial(capped_attention, cap=cap)
    if "final_logit_softcapping" in config:
        cap = config["final_logit_softcapping"]
        found["last_scores"] = None if cap is None else partial(soft_cap, cap=cap)
    return found


def _experts(config: Config) -> dict[str, Any]:
    if "num_local_experts" not in config:
        return {}
    names = {"num_experts": "num_local_experts", "per_token": "num_experts_per_tok",
             "gain": "swiglu_alpha", "bound": "swiglu_limit"}  # fmt: skip
    given = {ours: config[theirs] for ours, theirs in names.items() if theirs in config}
    return {"feed_forward": partial(ClampedExperts, **given)}
