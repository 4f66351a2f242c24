"""RoPE as a config.json describes it, by its own names.

Source: modeling_rope_utils.py of https://github.com/huggingface/transformers
Ours / theirs: base = rope_theta;  trained_length = original_max_position_embeddings;  fast, slow =
    beta_fast, beta_slow;  magnitude = attention_factor
Differs: types whose frequencies depend on the length that is read (dynamic, longrope) are refused
Same contract as: ROPE_INIT_FUNCTIONS of transformers
"""

from collections.abc import Callable, Mapping
from typing import Any

from torch import Tensor

from course_utils.positions import (
    RotaryPositions,
    llama3_frequencies,
    rope_frequencies,
    yarn_frequencies,
    yarn_magnitude,
)

Settings = Mapping[str, Any]


def configured_rope(settings: Settings) -> Callable[[int], RotaryPositions]:
    """Return what makes RoPE from d_k.

    Args:
        settings: What is under `rope_parameters`: rope_type, rope_theta, and what the type
            requires.

    Raises:
        ValueError: It has a setting that ours does not support.
    """
    kind = settings.get("rope_type", settings.get("type", "default"))
    if kind not in FREQUENCIES:
        raise ValueError(f"rope_type must be one of {sorted(FREQUENCIES)}, got {kind!r}")
    if kind == "default" and "factor" in settings:
        raise ValueError(f"factor needs another rope_type than default, got {settings['factor']}")
    for name in ("mscale", "mscale_all_dim"):
        if settings.get(name) is not None:
            raise ValueError(f"{name} must be left out for our model, got {settings[name]!r}")
    if settings.get("partial_rotary_factor", 1.0) != 1.0:
        share = settings["partial_rotary_factor"]
        raise ValueError(f"partial_rotary_factor must be 1.0 for our model, got {share!r}")
    base = float(settings.get("rope_theta", 10000.0))

    def made(d_k: int) -> RotaryPositions:
        frequencies, magnitude = FREQUENCIES[kind](d_k, base, settings)
        return RotaryPositions(d_k, frequencies=frequencies, magnitude=magnitude)

    return made


def _llama3(d_k: int, base: float, settings: Settings) -> tuple[Tensor, float]:
    names = ("factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings")
    return llama3_frequencies(rope_frequencies(d_k, base), *(settings[name] for name in names)), 1.0


def _yarn(d_k: int, base: float, settings: Settings) -> tuple[Tensor, float]:
    frequencies = yarn_frequencies(
        d_k,
        factor=settings["factor"],
        trained_length=settings["original_max_position_embeddings"],
        base=base,
        fast=settings.get("beta_fast") or 32.0,
        slow=settings.get("beta_slow") or 1.0,
        truncate=settings.get("truncate", True),
    )
    magnitude = settings.get("attention_factor")
    return frequencies, yarn_magnitude(settings["factor"]) if magnitude is None else magnitude


FREQUENCIES: dict[str, Callable[[int, float, Settings], tuple[Tensor, float]]] = {
    "default": lambda d_k, base, settings: (rope_frequencies(d_k, base), 1.0),
    "linear": lambda d_k, base, settings: (rope_frequencies(d_k, base) / settings["factor"], 1.0),
    "llama3": _llama3,
    "yarn": _yarn,
}
