"""Renaming the weights of one model to those of another."""

import re
from collections.abc import Mapping

from torch import Tensor

Names = Mapping[str, str]


def renamed(
    weights: Mapping[str, Tensor], around: Names, layers: tuple[str, str], in_layer: Names
) -> dict[str, Tensor]:
    """Return the weights under their new names.

    Args:
        weights: A state_dict.
        around: New names of what is outside the layers, by the old ones.
        layers: Where the layers are, in the old model and in the new one.
        in_layer: New names of what each layer has, by the old ones; # is the number of an expert,
            an empty name the layer itself.

    Raises:
        ValueError: A weight is in neither table.
    """
    found = {}
    for name, weight in weights.items():
        part, _, kind = name.rpartition(".")
        layer = re.fullmatch(rf"{re.escape(layers[0])}\.(\d+)\.?(.*)", part)
        if part in around:
            new = around[part]
        elif layer is not None and (inner := _numbered(layer[2]))[0] in in_layer:
            own = in_layer[inner[0]].replace("#", inner[1])
            new = f"{layers[1]}.{layer[1]}.{own}".removesuffix(".")
        else:
            raise ValueError(f"weights must be those of the model to rename, got also {name!r}")
        found[f"{new}.{kind}"] = weight
    return found


def _numbered(name: str) -> tuple[str, str]:
    """Return a name with # in place of its number, and the number."""
    found = re.search(r"\.(\d+)\.", name)
    return (name, "") if found is None else (name.replace(found[0], ".#.", 1), found[1])


def turned_round(names: Names) -> dict[str, str]:
    """Return the old names by the new ones."""
    return {new: old for old, new in names.items()}
