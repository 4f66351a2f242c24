"""A config.json of Llama's descendants, read as a design: what each of its fields changes.

Source: the configuration_*.py of https://github.com/huggingface/transformers
Ours / theirs: see `read_design`, line by line
Differs: fields that only code outside the model reads (dropout, tokens, training) are not
    looked at; a field that would make a model unlike ours must have the value given here
Same contract as: the config classes of transformers
"""

from dataclasses import replace
from functools import partial
from typing import Any

from course_utils.attention.core.soft_cap import soft_cap
from course_utils.models.released.families.deepseek_config import read_deepseek
from course_utils.models.released.families.gemma4_config import read_gemma4
from course_utils.models.released.families.kimi_config import read_kimi
from course_utils.models.released.families.llama_design import Design, LayerKind, no_positions
from course_utils.models.released.families.llama_families import FAMILIES
from course_utils.models.released.families.llama_rope import configured_rope
from course_utils.models.released.families.qwen_config import read_qwen
from course_utils.models.released.families.settings import (
    Config,
    check_layer_types,
    check_settings,
    rope_settings,
)
from course_utils.models.released.layers.clamped_experts import ClampedExperts
from course_utils.models.released.layers.composed_heads import capped_attention

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

# What a file means that leaves these out, where it is not what most families mean.
EPS = {"gpt_oss": 1e-5, "olmo2": 1e-5, "olmo3": 1e-5, "phi3": 1e-5}
BASE = {"gemma3_text": 1e6, "gpt_oss": 150000.0, "olmo3": 500000.0, "smollm3": 2e6}

ALSO = {"phi3": ("partial_rotary_factor",)}  # settings of RoPE that only these families have

OWN_READERS = {
    "deepseek_v3": read_deepseek,
    "deepseek_v32": read_deepseek,
    "gemma4_text": read_gemma4,
    "kimi_linear": read_kimi,
    "qwen3_next": read_qwen,
    "qwen3_5_text": read_qwen,
}
MODEL_TYPES = (*FAMILIES, *OWN_READERS)


def read_design(config: Config) -> Design:
    """Return the design that a config.json describes.

    Args:
        config: What the file holds.

    Raises:
        ValueError: A field has a value that ours does not support.
    """
    family = config["model_type"]
    if family in OWN_READERS:
        return OWN_READERS[family](config)
    check_settings(config, SAME_IN_ALL | REQUIRED[family])
    design = FAMILIES[family]
    ropes = _ropes(config)
    changes: dict[str, Any] = {
        "d_k": config.get("head_dim") or design.d_k,  # left out, the family's own
        "eps": config.get("rms_norm_eps", EPS.get(family, 1e-6)),
        "positions": configured_rope(ropes[FULL], ALSO.get(family, ())),
        "kinds": tuple(_kinds(config, ropes)),
        "tied": config.get("tie_word_embeddings", design.tied),
    }
    if "attention_bias" in config and family != "qwen2":
        changes["bias"] = changes["out_bias"] = config["attention_bias"]
    if "query_pre_attn_scalar" in config:
        changes["scale"] = config["query_pre_attn_scalar"] ** -0.5
    return replace(design, **changes, **_caps(config), **_experts(config))


def _ropes(config: Config) -> dict[str, Config]:
    """Return the settings of RoPE for both kinds of layers, from the new fields or the old ones."""
    family, given = config["model_type"], config.get("rope_parameters") or {}
    if FULL in given:
        return {kind: given[kind] for kind in (FULL, WINDOWED)}
    full = rope_settings(config, BASE.get(family, 10000.0))
    if family == "phi3":
        return dict.fromkeys((FULL, WINDOWED), _phi3_rope(config, full))
    if family == "olmo3":  # only layers that see everything are stretched
        return {FULL: full, WINDOWED: {"rope_theta": full["rope_theta"]}}
    near = {"rope_theta": config.get("rope_local_base_freq", 10000.0)}
    return {FULL: full, WINDOWED: near if family == "gemma3_text" else full}


def _phi3_rope(config: Config, given: Config) -> Config:
    """Return the settings with what Phi-3 has outside them, and its older names of longrope."""
    outside = ("partial_rotary_factor", "original_max_position_embeddings")
    found = {name: config[name] for name in outside if name in config} | dict(given)
    kind = found.pop("type", None)
    found.setdefault("rope_type", kind or "default")
    if found["rope_type"] in ("su", "yarn"):
        found["rope_type"] = "longrope"
    if found["rope_type"] == "longrope" and found.get("factor") is None:
        trained = found["original_max_position_embeddings"]
        found["factor"] = config["max_position_embeddings"] / trained
    return found


def _kinds(config: Config, ropes: dict[str, Config]) -> list[LayerKind]:
    window, layers = config.get("sliding_window"), config["num_hidden_layers"]
    kinds = config.get("layer_types") or _pattern(config, layers)
    near = None if ropes[WINDOWED] == ropes[FULL] else configured_rope(ropes[WINDOWED])
    check_layer_types(kinds, (WINDOWED, FULL))
    made = [LayerKind(window, near) if kind == WINDOWED else LayerKind() for kind in kinds]
    if config["model_type"] != "smollm3":
        return made
    return [
        kind if turns else replace(kind, positions=no_positions)
        for kind, turns in zip(made, _rotated(config, layers), strict=True)
    ]


def _rotated(config: Config, layers: int) -> list[bool]:
    """Return which layers of a SmolLM 3 rotate: `no_rope_layers` holds a 1 for those that do."""
    every = config.get("no_rope_layer_interval", 4)
    given = config.get("no_rope_layers") or [(number + 1) % every for number in range(layers)]
    return [bool(turns) for turns in given[:layers]]


def _pattern(config: Config, layers: int) -> list[str]:
    """Return the kind of each layer that a file without `layer_types` implies."""
    family, window = config["model_type"], config.get("sliding_window")
    chosen = family not in ("qwen2", "qwen3", "smollm3") or config.get("use_sliding_window")
    if window is None or not chosen:
        return [FULL] * layers
    if family == "smollm3":
        return [FULL if turns else WINDOWED for turns in _rotated(config, layers)]
    if family in ("qwen2", "qwen3"):
        first = config.get("max_window_layers", 28)
        return [WINDOWED if number >= first else FULL for number in range(layers)]
    if family in ("mistral", "llama", "phi3"):
        return [WINDOWED] * layers
    every = {"gemma3_text": config.get("sliding_window_pattern", 6), "olmo3": 4}.get(family, 2)
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
