"""RoPE as a config.json describes it, by its own names.

Source: modeling_rope_utils.py of https://github.com/huggingface/transformers
Ours / theirs: base = rope_theta;  trained_length = original_max_position_embeddings;  fast, slow =
    beta_fast, beta_slow;  magnitude = attention_factor
Differs: dynamic, whose frequencies change with every length that is read, is refused; with
    longrope, a cache cannot cross the trained length, where theirs mixes both rotations
Same contract as: ROPE_INIT_FUNCTIONS of transformers
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from torch import Tensor

from course_utils.positions import (
    PartialRotaryPositions,
    PositionScheme,
    RotaryPositions,
    llama3_frequencies,
    longrope_frequencies,
    longrope_magnitude,
    rope_frequencies,
    yarn_frequencies,
    yarn_magnitude,
)
from course_utils.positions.longrope import LongRotaryPositions

Settings = Mapping[str, Any]
BY_FAMILY = {"partial_rotary_factor": 1.0, "mscale": None, "mscale_all_dim": None}
"""Settings that only some families' code reads, with the values that change nothing."""


def configured_rope(
    settings: Settings, also: tuple[str, ...] = (), **table: Any
) -> Callable[[int], PositionScheme]:
    """Return what makes RoPE from d_k.

    Args:
        settings: What is under `rope_parameters`: rope_type, rope_theta, and what the type
            requires.
        also: Which of `BY_FAMILY` the family's code reads.
        **table: What else `RopeTable` takes: pairing.

    Raises:
        ValueError: It has a setting that ours does not support.
    """
    kind = settings.get("rope_type", settings.get("type", "default"))
    if kind not in FREQUENCIES:
        raise ValueError(f"rope_type must be one of {sorted(FREQUENCIES)}, got {kind!r}")
    if kind == "default" and "factor" in settings:
        raise ValueError(f"factor needs another rope_type than default, got {settings['factor']}")
    for name, silent in BY_FAMILY.items():
        given = settings.get(name, silent)
        if given not in (None, silent) and name not in also:
            must = "be left out" if silent is None else f"be {silent}"
            raise ValueError(f"{name} must {must} for our model, got {given!r}")
    base = float(settings.get("rope_theta", 10000.0))
    share = settings.get("partial_rotary_factor", 1.0)

    def made(d_k: int) -> PositionScheme:
        width = d_k if kind == "proportional" else int(d_k * share)

        def rotary(frequencies: Tensor, magnitude: float) -> PositionScheme:
            return RotaryPositions(width, frequencies=frequencies, magnitude=magnitude, **table)

        scheme = rotary(*FREQUENCIES[kind](width, base, settings))
        if kind == "longrope":
            far = rotary(*_longrope("long_factor", width, base, settings))
            trained = settings["original_max_position_embeddings"]
            scheme = LongRotaryPositions(scheme, far, trained)
        return scheme if width == d_k else PartialRotaryPositions(width, rotary=scheme)

    return made


def _longrope(which: str, d_k: int, base: float, settings: Settings) -> tuple[Tensor, float]:
    frequencies = longrope_frequencies(d_k, settings[which], base)
    magnitude = settings.get("attention_factor")
    if magnitude is None:
        trained = settings["original_max_position_embeddings"]
        magnitude = longrope_magnitude(settings["factor"], trained)
    return frequencies, magnitude


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
    if magnitude is None:
        shares = [settings.get(name) or 0.0 for name in ("mscale", "mscale_all_dim")]
        if not all(shares):
            return frequencies, yarn_magnitude(settings["factor"])
        over, under = (1 + share * (yarn_magnitude(settings["factor"]) - 1) for share in shares)
        magnitude = over / under
    return frequencies, magnitude


def _proportional(d_k: int, base: float, settings: Settings) -> tuple[Tensor, float]:
    frequencies = rope_frequencies(d_k, base) / settings.get("factor", 1.0)
    turned = int(settings.get("partial_rotary_factor", 1.0) * d_k // 2)
    frequencies[turned:] = 0.0  # the slowest pairs do not turn at all
    return frequencies, 1.0


FREQUENCIES: dict[str, Callable[[int, float, Settings], tuple[Tensor, float]]] = {
    "default": lambda d_k, base, settings: (rope_frequencies(d_k, base), 1.0),
    "linear": lambda d_k, base, settings: (rope_frequencies(d_k, base) / settings["factor"], 1.0),
    "llama3": _llama3,
    "longrope": partial(_longrope, "short_factor"),
    "proportional": _proportional,
    "yarn": _yarn,
}
