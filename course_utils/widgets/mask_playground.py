"""The picture of chapter 06: the rules of a mask, the weights under it, and who reads whom."""

from collections.abc import Sequence
from typing import Any

import anywidget
import traitlets

from course_utils.plain_validation import (
    check_int,
    check_strings,
)
from course_utils.widgets._assets import module, style

RULES = ("causal", "window", "padding", "prefix", "documents")
"""The rules that can be switched on."""

TOKENS = ("the", "cat", "sat", "up", "my", "dog", "ran", "off")
"""Two short sentences, eight different words."""


class MaskPlayground(anywidget.AnyWidget):
    """The widget that ``mask_playground`` makes; its traits follow the controls."""

    _esm = module("mask_playground.js")
    _css = style("mask_playground.css")

    tokens: "traitlets.List[str]" = traitlets.List(help="The keys, in order.").tag(sync=True)
    on: "traitlets.List[str]" = traitlets.List(help="The rules that are on.").tag(sync=True)
    num_queries = traitlets.Int(1, help="The queries are the last so many tokens.").tag(sync=True)
    offset = traitlets.Int(0, help="Query i sees keys up to i + offset.").tag(sync=True)
    window = traitlets.Int(1, help="Keys in a window, the one at i + offset included.").tag(
        sync=True
    )
    pads = traitlets.Int(0, help="Keys that are padding.").tag(sync=True)
    left = traitlets.Bool(False, help="Whether the padding stands before the tokens.").tag(
        sync=True
    )
    prefix = traitlets.Int(0, help="The first so many keys are seen by all.").tag(sync=True)
    second = traitlets.Int(1, help="Where the second document starts.").tag(sync=True)
    third = traitlets.Int(1, help="Where the third one starts; at the end there is none.").tag(
        sync=True
    )
    row = traitlets.Int(0, help="The query that is read out.").tag(sync=True)

    @traitlets.validate(
        "num_queries", "offset", "window", "pads", "prefix", "second", "third", "row"
    )
    def _inside(self, proposal: dict[str, Any]) -> int:
        name, value, size = proposal["trait"].name, int(proposal["value"]), len(self.tokens)
        ranges = {
            "num_queries": (1, size),
            "offset": (-size, size),
            "window": (1, size),
            "second": (1, size - 1),
            "third": (1, size),
            "row": (0, size - 1),
        }
        low, high = ranges.get(name, (0, size))
        if not low <= value <= high:
            raise ValueError(f"{name} must be from {low} to {high}, got {value}")
        return value

    @traitlets.validate("on")
    def _known(self, proposal: dict[str, Any]) -> list[str]:
        value = list(proposal["value"])
        if not set(value) <= set(RULES):
            raise ValueError(f"on must hold names from {', '.join(RULES)}, got {value}")
        return value

    def __repr__(self) -> str:
        """Say the settings; the same in every run."""
        rules = ", ".join(self.on) or "no rule"
        return f"MaskPlayground({self.num_queries} queries, {len(self.tokens)} keys: {rules})"


def mask_playground(
    tokens: Sequence[str] = TOKENS,
    *,
    on: Sequence[str] = ("causal",),
    num_queries: int | None = None,
    offset: int = 0,
    row: int | None = None,
) -> MaskPlayground:
    """Show what a mask hides: switch rules on and off, then choose a query.

    The rules meet as they must: what causal and window hide a prefix opens again, and padding and
    documents hide in any case. Scores are fixed numbers, made in the page. With documents it counts
    the pairs multiplied: each document for itself, all padded to the longest, and one row of all.

    Args:
        tokens: From 2 to 12 words; they are the keys, and the last ones are the queries.
        on: Rules that are on at first, of ``RULES``.
        num_queries: How many queries there are; None means as many as tokens.
        offset: Query i sees keys up to i + offset; the windows end there too.
        row: The query that is read out at first; None means the third, or the last of fewer.

    Raises:
        TypeError: ``tokens`` or ``on`` is one string, or a number is not an int.
        ValueError: A number of tokens, a rule or a number is out of its range.
    """
    check_strings(tokens=tokens, on=on)
    if not 2 <= len(tokens) <= 12:
        raise ValueError(f"tokens must be 2 to 12 words, got {len(tokens)}")
    size = len(tokens)
    numbers = {
        "num_queries": size if num_queries is None else num_queries,
        "offset": offset,
        "row": min(2, size - 1) if row is None else row,
    }
    check_int(**numbers)
    half = size // 2
    settings = {
        "window": min(3, size),
        "pads": min(3, half),
        "prefix": min(3, half),
        "second": half,
        "third": size,
    }
    widget = MaskPlayground(tokens=list(tokens))
    for name, value in {**settings, **numbers}.items():
        widget.set_trait(name, value)
    widget.set_trait("on", list(on))
    return widget
