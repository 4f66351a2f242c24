"""The picture of chapter 11: wirings of the same layers, and which input reaches which output."""

from collections.abc import Sequence
from typing import Any

import anywidget
import traitlets

from course_utils.plain_validation import check_int, check_strings
from course_utils.widgets._assets import module, style

WIRINGS = ("bert", "gpt", "prefix", "t5", "stub")
"""One stream with three masks, encoder and decoder, and a decoder that leaks."""

SOURCE = ("le", "chat", "dort", "bien", "ici")
TARGET = ("the", "cat", "sleeps", "well", "here")

RANGES = {"num_layers": (1, 6), "window": (0, 6)}


class WiringExplorer(anywidget.AnyWidget):
    """The widget that ``wiring_explorer`` makes; its traits follow the controls."""

    _esm = module("wiring_explorer.js")
    _css = style("wiring_explorer.css")

    source: "traitlets.List[str]" = traitlets.List(
        traitlets.Unicode(), help="Words that are read."
    ).tag(sync=True)
    target: "traitlets.List[str]" = traitlets.List(
        traitlets.Unicode(), help="Words that are written."
    ).tag(sync=True)
    wiring = traitlets.Enum(WIRINGS, "t5", help="Which stacks there are, under which masks.").tag(
        sync=True
    )
    pre_norm = traitlets.Bool(True, help="Whether a norm stands before its part.").tag(sync=True)
    num_layers = traitlets.Int(2, help="Layers of a stack.").tag(sync=True)
    num_source = traitlets.Int(1, help="Words of the source, padding included.").tag(sync=True)
    num_target = traitlets.Int(1, help="Words of the target.").tag(sync=True)
    pads = traitlets.Int(0, help="The last so many of the source are padding.").tag(sync=True)
    window = traitlets.Int(0, help="Keys to a side, the own counted; 0: all.").tag(sync=True)
    side = traitlets.Enum(("source", "target"), "target", help="Where the chosen output is.").tag(
        sync=True
    )
    place = traitlets.Int(0, help="The chosen output, counted from its side's first.").tag(
        sync=True
    )

    @traitlets.validate("num_source", "num_target", "pads", "place", *RANGES)
    def _inside(self, proposal: dict[str, Any]) -> int:
        name, value = proposal["trait"].name, int(proposal["value"])
        longest = max(len(self.source), len(self.target))
        ranges = {
            "num_source": (1, len(self.source)),
            "num_target": (1, len(self.target)),
            "pads": (0, len(self.source)),
            "place": (0, longest - 1),
        }
        low, high = (ranges | RANGES)[name]
        if not low <= value <= high:
            raise ValueError(f"{name} must be from {low} to {high}, got {value}")
        return value

    def __repr__(self) -> str:
        """Say the settings; the same in every run."""
        order = "pre-norm" if self.pre_norm else "post-norm"
        return f"WiringExplorer({self.wiring}, {order}, {self.num_layers} layers)"


def wiring_explorer(
    source: Sequence[str] = SOURCE,
    target: Sequence[str] = TARGET,
    *,
    wiring: str = "t5",
    pre_norm: bool = True,
    **sizes: int,
) -> WiringExplorer:
    """Show which inputs reach an output through the masks of all layers.

    Args:
        source: From 1 to 6 words that are read.
        target: From 1 to 6 words that are written.
        wiring: One of ``WIRINGS``.
        pre_norm: Whether the norms stand before the parts.
        **sizes: Other traits: num_layers, num_source, num_target, pads, window, place.

    Raises:
        TypeError: `source` or `target` is one string, or a size has an unknown name or is not an
            int.
        ValueError: The wiring does not exist, or a number is out of its range.
    """
    check_strings(source=source, target=target)
    for name, words in {"source": source, "target": target}.items():
        if not 1 <= len(words) <= 6:
            raise ValueError(f"{name} must be 1 to 6 words, got {len(words)}")
    if wiring not in WIRINGS:
        raise ValueError(f"wiring must be one of {', '.join(WIRINGS)}, got {wiring!r}")
    known = {"num_source", "num_target", "pads", "place", *RANGES}
    if unknown := sorted(sizes.keys() - known):
        raise TypeError(f"sizes must be among {', '.join(sorted(known))}, got {unknown[0]!r}")
    check_int(**sizes)
    widget = WiringExplorer(source=list(source), target=list(target))
    counts = {"num_source": len(source), "num_target": len(target), "place": len(target) // 2}
    for name, value in (counts | sizes).items():
        widget.set_trait(name, value)
    widget.set_trait("wiring", wiring)
    widget.set_trait("pre_norm", pre_norm)
    return widget
