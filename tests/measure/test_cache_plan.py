"""The plan of a cache, against the configurations and the caches of transformers."""

import json
from typing import Any

import pytest
import torch
from transformers import (
    DeepseekV3Config,
    DynamicCache,
    Gemma3TextConfig,
    GptOssConfig,
    LlamaConfig,
    Qwen3Config,
)
from transformers.models.auto.modeling_auto import AutoModelForCausalLM

from course_utils.measure import cache_plan
from course_utils.measure.cache_plan import HEAD_WIDTHS

SIZES = {
    "vocab_size": 40, "hidden_size": 24, "intermediate_size": 20, "num_hidden_layers": 5,
    "num_attention_heads": 6, "num_key_value_heads": 3, "pad_token_id": 0,
}  # fmt: skip
EXPERTS = {"num_experts_per_tok": 2, "num_local_experts": 4}
LATENT = {
    "kv_lora_rank": 10, "q_lora_rank": 12, "qk_rope_head_dim": 4, "qk_nope_head_dim": 6,
    "v_head_dim": 5, "n_routed_experts": 4, "n_group": 1, "topk_group": 1, "num_experts_per_tok": 2,
    "moe_intermediate_size": 8, "num_mtp_layers": 0,
}  # fmt: skip
NEAR, FULL = "sliding_attention", "full_attention"
MODELS = {
    "Llama": (LlamaConfig, {}),
    "Llama, all heads": (LlamaConfig, {"num_key_value_heads": None, "head_dim": 8}),
    "Qwen 3": (Qwen3Config, {"sliding_window": 4}),
    "Qwen 3, windows": (
        Qwen3Config, {"use_sliding_window": True, "sliding_window": 4, "max_window_layers": 2}
    ),
    "Gemma 3": (Gemma3TextConfig, {"sliding_window": 5, "num_hidden_layers": 7}),
    "Gemma 3, listed": (
        Gemma3TextConfig, {"sliding_window": 5, "layer_types": [FULL, NEAR, NEAR, FULL, NEAR]}
    ),
    "gpt-oss": (GptOssConfig, {"sliding_window": 4, **EXPERTS}),
    "DeepSeek V3": (DeepseekV3Config, {**LATENT, "num_key_value_heads": 6}),
}  # fmt: skip


def theirs(name: str) -> Any:
    kind, more = MODELS[name]
    return kind(**(SIZES | more))


def as_in_a_file(config: Any) -> dict[str, Any]:
    """Return what `save_pretrained` writes, with the family's defaults left out."""
    return dict(json.loads(config.to_json_string()))


@pytest.mark.peer(
    "17", "`cache_plan`", "transformers' configurations, and the growth of `DynamicCache` behind "
    "models of five families", "equal", "bytes and windows",
)  # fmt: skip
@pytest.mark.parametrize("name", MODELS)
def test_it_is_what_their_cache_grows_by(name) -> None:
    config = theirs(name)
    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_config(config).eval()
    tokens = torch.randint(1, 40, (1, 13))
    caches = [DynamicCache(config=config) for _ in range(2)]
    for count, cache in zip((12, 13), caches, strict=True):
        with torch.no_grad():
            model(tokens[:, :count], past_key_values=cache)
    held = [
        sum(layer.keys.nbytes + layer.values.nbytes for layer in cache.layers) for cache in caches
    ]
    grows, reach = cache_plan(as_in_a_file(config), bytes_per_element=4)
    assert grows == held[1] - held[0]
    assert reach == [getattr(layer, "sliding_window", None) for layer in caches[1].layers]


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("left_out", ["head_dim", "layer_types", "max_window_layers"])
def test_what_is_left_out_is_their_default(name, left_out) -> None:
    kind, more = MODELS[name]
    if left_out in more and left_out != "layer_types":
        more = {key: value for key, value in more.items() if key != left_out}
    given = SIZES | {"num_hidden_layers": 31} | more
    given.pop("layer_types", None)
    full = kind(**given)
    bare = as_in_a_file(full)
    bare.pop(left_out, None)
    windows = [full.sliding_window if one == NEAR else None for one in layer_kinds(full)]
    assert cache_plan(bare)[1] == windows
    if bare["model_type"] != "deepseek_v3":
        kept = 2 * full.num_key_value_heads * full.head_dim
        assert cache_plan(bare)[0] == 2 * kept * windows.count(None)


def layer_kinds(config: Any) -> list[str]:
    return getattr(config, "layer_types", None) or [FULL] * config.num_hidden_layers


def test_widths_of_heads_are_those_of_their_classes() -> None:
    kinds = {kind.model_type: kind for kind, _ in MODELS.values()}
    assert kinds.keys() == HEAD_WIDTHS.keys()
    for family in ("llama", "qwen3", "gemma3_text", "gpt_oss"):
        width = HEAD_WIDTHS[family]
        assert kinds[family](hidden_size=96, num_attention_heads=6).head_dim == (width or 16)


def test_other_families_and_kinds_of_layers_are_refused() -> None:
    with pytest.raises(ValueError, match=r"model_type must be one of llama, .*, got 'mamba'"):
        cache_plan({"model_type": "mamba"})
    config = as_in_a_file(theirs("Llama")) | {"layer_types": ["chunked_attention"]}
    with pytest.raises(ValueError, match=r"layer_types must hold .*, got 'chunked_attention'"):
        cache_plan(config)
