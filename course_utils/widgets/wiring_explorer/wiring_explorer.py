"""The picture of chapter 11: wirings of the same layers, and which input reaches which output."""

from collections.abc import Sequence

import traitlets

from course_utils.plain_validation import check_strings
from course_utils.widgets.traits import Choice, CourseWidget, Flag, Whole

WIRINGS = ("bert", "gpt", "prefix", "t5", "stub")
"""One stream with three masks, encoder and decoder, and a decoder that leaks."""

SOURCE = ("le", "chat", "dort", "bien", "ici")
TARGET = ("the", "cat", "sleeps", "well", "here")

VIEWS = ("blocks", "masks", "paths")

SIZES = ("num_layers", "num_source", "num_target", "pads", "place", "window")


class WiringExplorer(CourseWidget, page="wiring_explorer"):
    """The widget that ``wiring_explorer`` makes; its traits follow the controls."""

    source = traitlets.List(traitlets.Unicode(), help="Words that are read.")
    target = traitlets.List(traitlets.Unicode(), help="Words that are written.")
    wiring = Choice(WIRINGS, "t5", help="Which stacks there are, under which masks.")
    pre_norm = Flag(True, help="Whether a norm stands before its part.")
    num_layers = Whole(2, 1, 6, help="Layers of a stack.")
    num_source = Whole(
        1, 1, lambda self: len(self.source), help="Words of the source, padding included."
    )
    num_target = Whole(1, 1, lambda self: len(self.target), help="Words of the target.")
    pads = Whole(
        0, 0, lambda self: len(self.source), help="How many words at the source's end are padding."
    )
    window = Whole(0, 0, 6, help="Keys to each side, the query's own included; 0: all.")
    view = Choice(VIEWS, "blocks", help="Which tab is open.")
    side = Choice(("source", "target"), "target", help="Where the chosen output is.")
    place = Whole(
        0, 0, lambda self: max(len(self.source), len(self.target)) - 1,
        help="The chosen output, counted from its side's first.",
    )  # fmt: skip

    def __repr__(self) -> str:
        order = "pre-norm" if self.pre_norm else "post-norm"
        return f"WiringExplorer({self.wiring}, {order}, {self.num_layers} layers)"


def wiring_explorer(
    source: Sequence[str] = SOURCE,
    target: Sequence[str] = TARGET,
    *,
    wiring: str = "t5",
    pre_norm: bool = True,
    view: str = "blocks",
    **sizes: int,
) -> WiringExplorer:
    """Show a wiring's blocks, its masks, and which inputs reach an output through all layers.

    Args:
        source: From 1 to 6 words that are read.
        target: From 1 to 6 words that are written.
        wiring: One of ``WIRINGS``.
        pre_norm: Whether the norms stand before the parts.
        view: The tab that is open at first, one of ``VIEWS``.
        **sizes: Other traits: num_layers, num_source, num_target, pads, window, place.
    """
    check_strings(source=source, target=target)
    for name, words in {"source": source, "target": target}.items():
        if not 1 <= len(words) <= 6:
            raise ValueError(f"{name} must be 1 to 6 words, got {len(words)}")
    if unknown := sorted(sizes.keys() - set(SIZES)):
        raise TypeError(f"sizes must be among {', '.join(SIZES)}, got {unknown[0]!r}")
    counts = {"num_source": len(source), "num_target": len(target), "place": len(target) // 2}
    return WiringExplorer(
        source=list(source), target=list(target), wiring=wiring, pre_norm=pre_norm, view=view,
        **counts | sizes,
    )  # fmt: skip
