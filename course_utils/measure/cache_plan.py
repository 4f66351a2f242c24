"""The cache that a released model's configuration implies: bytes per token, and reach by layer.

Source: configuration_*.py and cache_utils.py of https://github.com/huggingface/transformers
Ours / theirs: reach = sliding_window, or none; a latent layer keeps kv_lora_rank + qk_rope_head_dim
Differs: five families; what their cache rounds down (a window keeps one token less between two
    steps) is not counted
Same contract as: the growth of transformers' DynamicCache, for models of these families
"""

from collections.abc import Mapping
from typing import Any

from course_utils.validation import check_at_least, check_instance

HEAD_WIDTHS = {"llama": None, "qwen3": 128, "gemma3_text": 256, "gpt_oss": 64, "deepseek_v3": None}


def cache_plan(
    config: Mapping[str, Any], bytes_per_element: int = 2
) -> tuple[int, list[int | None]]:
    """Return the bytes by which the cache grows per token, and how many tokens each layer sees.

    A layer with a window stops growing when the window is full; the bytes are those of one more
    token in one sequence after that.

    Args:
        config: What a config.json holds, of the family llama, qwen3, gemma3_text, gpt_oss or
            deepseek_v3.
        bytes_per_element: 4 for float32, 2 for float16.

    Raises:
        ValueError: The family is another, or a layer is of a kind that it does not have.
    """
    check_instance(Mapping, config=config)
    check_at_least(1, bytes_per_element=bytes_per_element)
    family = config.get("model_type")
    if family not in HEAD_WIDTHS:
        raise ValueError(f"model_type must be one of {', '.join(HEAD_WIDTHS)}, got {family!r}")
    kinds = config.get("layer_types") or _kinds(config)
    for kind in kinds:
        if kind not in ("full_attention", "sliding_attention"):
            raise ValueError(
                f"layer_types must hold full_attention or sliding_attention, got {kind!r}"
            )
    window = config.get("sliding_window")
    reach = [window if kind == "sliding_attention" else None for kind in kinds]
    return reach.count(None) * _numbers(config) * bytes_per_element, reach


def _numbers(config: Mapping[str, Any]) -> int:
    """Return how many numbers one layer keeps of a token."""
    if config["model_type"] == "deepseek_v3":
        return int(config["kv_lora_rank"] + config["qk_rope_head_dim"])
    heads = config["num_attention_heads"]
    width = config.get("head_dim", HEAD_WIDTHS[config["model_type"]])
    if width is None:
        width = config["hidden_size"] // heads
    shared = config.get("num_key_value_heads")
    return int(2 * (heads if shared is None else shared) * width)


def _kinds(config: Mapping[str, Any]) -> list[str]:
    """Return the kind of each layer that a file without `layer_types` implies."""
    family, layers = config["model_type"], range(config["num_hidden_layers"])
    near = [False for _ in layers]
    if family == "qwen3" and config.get("use_sliding_window", False):
        near = [layer >= config.get("max_window_layers", 28) for layer in layers]
    if family == "gemma3_text":
        near = [(layer + 1) % config.get("sliding_window_pattern", 6) != 0 for layer in layers]
    if family == "gpt_oss":
        near = [layer % 2 == 0 for layer in layers]
    return ["sliding_attention" if one else "full_attention" for one in near]
