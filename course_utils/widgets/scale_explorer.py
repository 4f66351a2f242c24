"""The picture of chapter 03: what d_k and temperature do to scores, weights and gradient."""

from typing import Any

import anywidget
import traitlets

from course_utils.plain_validation import (
    check_instance,
    check_int,
    check_number,
)
from course_utils.widgets._assets import module, style

WIDTHS = tuple(2**power for power in range(11))
"""The values of d_k that can be chosen."""


class ScaleExplorer(anywidget.AnyWidget):
    """The widget that ``scale_explorer`` makes; its traits follow the sliders."""

    _esm = module("scale_explorer.js")
    _css = style("scale_explorer.css")

    d_k = traitlets.Int(4, help="Width of a query and a key.").tag(sync=True)
    temperature = traitlets.Float(1.0, help="What the scores are divided by.").tag(sync=True)
    scaled = traitlets.Bool(False, help="Whether scores are divided by sqrt(d_k).").tag(sync=True)
    num_keys = traitlets.Int(16, help="How many keys a query sees.").tag(sync=True)
    seed = traitlets.Int(12, help="The draw; the same seed gives the same picture.").tag(sync=True)

    @traitlets.validate("d_k")
    def _width(self, proposal: dict[str, Any]) -> int:
        value = int(proposal["value"])
        if value not in WIDTHS:
            raise ValueError(f"d_k must be a power of two from 1 to {WIDTHS[-1]}, got {value}")
        return value

    @traitlets.validate("temperature")
    def _warmth(self, proposal: dict[str, Any]) -> float:
        value = float(proposal["value"])
        if not 0.1 <= value <= 10:
            raise ValueError(f"temperature must be from 0.1 to 10, got {value}")
        return value

    @traitlets.validate("num_keys")
    def _keys(self, proposal: dict[str, Any]) -> int:
        value = int(proposal["value"])
        if not 2 <= value <= 32:
            raise ValueError(f"num_keys must be from 2 to 32, got {value}")
        return value

    @traitlets.validate("seed")
    def _seed(self, proposal: dict[str, Any]) -> int:
        value = int(proposal["value"])
        if not 0 <= value < 2**31:
            raise ValueError(f"seed must be from 0 to 2**31 - 1, got {value}")
        return value

    def __repr__(self) -> str:
        """Say the settings; the same in every run."""
        return (
            f"ScaleExplorer(d_k={self.d_k}, temperature={self.temperature:g}, "
            f"scaled={self.scaled}, num_keys={self.num_keys}, seed={self.seed})"
        )


def scale_explorer(
    *,
    d_k: int = 4,
    temperature: float = 1.0,
    scaled: bool = False,
    num_keys: int = 16,
    seed: int = 12,
) -> ScaleExplorer:
    """Show what happens to softmax attention as d_k grows, with and without 1/sqrt(d_k).

    Queries and keys are standard normals, drawn in the page.

    Args:
        d_k: A power of two from 1 to 1024.
        temperature: From 0.1 to 10.
        scaled: True divides the scores by sqrt(d_k).
        num_keys: From 2 to 32.
        seed: From 0 to 2**31 - 1. The default is a draw in which the first query's weights sharpen
            at every step of d_k; "Draw again" shows others.

    Raises:
        TypeError: An argument is not of the kind named above.
        ValueError: An argument is out of its range.
    """
    check_int(d_k=d_k, num_keys=num_keys, seed=seed)
    check_number(temperature=temperature)
    check_instance(bool, scaled=scaled)
    return ScaleExplorer(
        d_k=d_k, temperature=float(temperature), scaled=scaled, num_keys=num_keys, seed=seed
    )
