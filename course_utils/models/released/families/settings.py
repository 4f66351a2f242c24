"""The common part of all readers of a config.json: checks of fields, RoPE's old and new ones.

Source: the configuration_*.py of https://github.com/huggingface/transformers
Ours / theirs: rope_parameters = rope_theta beside rope_scaling, in older files
"""

from collections.abc import Collection, Mapping
from typing import Any

Config = Mapping[str, Any]


def check_settings(config: Config, allowed: Mapping[str, tuple[Any, ...]]) -> None:
    """Raise ValueError unless each field has one of the values; if left out, it has the first."""
    for name, values in allowed.items():
        if config.get(name, values[0]) not in values:
            raise ValueError(f"{name} must be {values[0]!r} for our model, got {config[name]!r}")


def rope_settings(config: Config, base: float = 10000.0) -> dict[str, Any]:
    """Return all settings of RoPE, from the new field or the two older ones.

    Args:
        config: What the file holds.
        base: The base of a file that names none.
    """
    found = {"rope_theta": config.get("rope_theta", base)}
    return found | (config.get("rope_parameters") or {}) | (config.get("rope_scaling") or {})


def check_layer_types(kinds: Collection[str], known: Collection[str]) -> None:
    """Raise ValueError unless each layer is of a known kind."""
    for kind in kinds:
        if kind not in known:
            raise ValueError(f"layer_types must hold {' or '.join(known)}, got {kind!r}")
