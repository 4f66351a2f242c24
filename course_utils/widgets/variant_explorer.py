"""The picture of chapter 08: who sees whom under each variant, its costs, and its times."""

from collections.abc import Mapping, Sequence
from typing import Any

import anywidget
import traitlets

from course_utils.widgets._assets import module, style

VARIANTS = (
    "full",
    "grouped",
    "latent",
    "window",
    "strided",
    "fixed",
    "linear",
    "performer",
    "linformer",
    "lsh",
    "xca",
)
"""What can be shown."""

RANGES = {"length": (128, 131072), "d_k": (16, 128), "num_heads": (1, 32), "window": (16, 4096)}


class VariantExplorer(anywidget.AnyWidget):
    """The widget that ``variant_explorer`` makes; its traits follow the controls."""

    _esm = module("variant_explorer.js")
    _css = style("variant_explorer.css")

    variant = traitlets.Enum(VARIANTS, "full", help="Which attention is shown.").tag(sync=True)
    length = traitlets.Int(4096, help="How many tokens; a power of two.").tag(sync=True)
    d_k = traitlets.Int(64, help="Width of a head; a power of two.").tag(sync=True)
    num_heads = traitlets.Int(8, help="Query heads; a power of two.").tag(sync=True)
    num_kv_heads = traitlets.Int(2, help="Heads of keys and values where they are shared.").tag(
        sync=True
    )
    window = traitlets.Int(128, help="Keys in a window, a stride, or a block.").tag(sync=True)
    curves: "traitlets.Dict[str, Any]" = traitlets.Dict(
        help="Recorded milliseconds: for each name its [length, milliseconds]."
    ).tag(sync=True)

    @traitlets.validate("length", "d_k", "num_heads", "window")
    def _inside(self, proposal: dict[str, Any]) -> int:
        name, value = proposal["trait"].name, int(proposal["value"])
        low, high = RANGES[name]
        if not low <= value <= high or value.bit_count() != 1:
            raise ValueError(f"{name} must be a power of two from {low} to {high}, got {value}")
        return value

    @traitlets.validate("num_kv_heads")
    def _divides(self, proposal: dict[str, Any]) -> int:
        value = int(proposal["value"])
        if value < 1 or value > RANGES["num_heads"][1] or value.bit_count() != 1:
            raise ValueError(f"num_kv_heads must be a power of two from 1 to 32, got {value}")
        return value

    def __repr__(self) -> str:
        """Say the settings; the same in every run."""
        return f"VariantExplorer({self.variant}, {self.length} tokens, {len(self.curves)} curves)"


def variant_explorer(
    runs: Sequence[Mapping[str, Any]] = (),
    *,
    variant: str = "window",
    length: int = 4096,
    d_k: int = 64,
    num_heads: int = 8,
    num_kv_heads: int = 2,
    window: int = 128,
) -> VariantExplorer:
    """Show who sees whom under a variant, what it costs (plain attention too), and its times.

    Args:
        runs: Recorded rows with "what", "length" and "milliseconds"; none draws no times.
        variant: One of ``VARIANTS``.
        length: Tokens at first, a power of two from 128 to 131072.
        d_k: Width of a head, a power of two from 16 to 128.
        num_heads: Query heads, a power of two up to 32.
        num_kv_heads: Heads of keys and values where they are shared; at most num_heads.
        window: Keys in a window, a stride, or a block: a power of two from 16 to 4096.

    Raises:
        ValueError: The variant does not exist, or a number is out of its range.
    """
    if variant not in VARIANTS:
        raise ValueError(f"variant must be one of {', '.join(VARIANTS)}, got {variant!r}")
    if num_kv_heads > num_heads:
        raise ValueError(
            f"num_kv_heads must be at most num_heads = {num_heads}, got {num_kv_heads}"
        )
    curves: dict[str, list[list[float]]] = {}
    for run in runs:
        curves.setdefault(run["what"], []).append([run["length"], run["milliseconds"]])
    return VariantExplorer(
        variant=variant,
        length=length,
        d_k=d_k,
        num_heads=num_heads,
        num_kv_heads=num_kv_heads,
        window=window,
        curves=curves,
    )
