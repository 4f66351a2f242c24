"""The picture of chapter 08: who sees whom under each variant, its costs, and its times."""

from collections.abc import Mapping, Sequence
from typing import Any

import traitlets

from course_utils.widgets.traits import Choice, CourseWidget, PowerOfTwo

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
"""Views of the widget."""


class VariantExplorer(CourseWidget, page="variant_explorer"):
    """The widget that ``variant_explorer`` makes; its traits follow the controls."""

    variant = Choice(VARIANTS, "full", help="Which attention is shown.")
    length = PowerOfTwo(4096, 128, 131072, help="How many tokens.")
    d_k = PowerOfTwo(64, 16, 128, help="Width of a head.")
    num_heads = PowerOfTwo(8, 1, 32, help="Query heads.")
    num_kv_heads = PowerOfTwo(2, 1, 32, help="Heads of keys and values where they are shared.")
    window = PowerOfTwo(128, 16, 4096, help="Keys in a window, a stride, or a block.")
    curves: "traitlets.Dict[str, Any]" = traitlets.Dict(
        help="Recorded milliseconds: for each name its [length, milliseconds]."
    )

    def __repr__(self) -> str:
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
    """
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
