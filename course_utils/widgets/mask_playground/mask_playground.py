"""The picture of chapter 06: the rules of a mask, the weights under it, and who reads whom."""

from collections.abc import Sequence
from typing import Any

import traitlets

from course_utils.plain_validation import check_strings
from course_utils.widgets.traits import CourseWidget, Flag, Whole

RULES = ("causal", "window", "padding", "prefix", "documents")
"""The rules that can be switched on."""

TOKENS = ("the", "cat", "sat", "up", "my", "dog", "ran", "off")
"""Two short sentences, eight different words."""


def _size(widget: Any) -> int:
    return len(widget.tokens)


class MaskPlayground(CourseWidget, page="mask_playground"):
    """The widget that ``mask_playground`` makes; its traits follow the controls."""

    tokens = traitlets.List(traitlets.Unicode(), help="The keys, in order.")
    on = traitlets.List(traitlets.Unicode(), help="The rules that are on.")
    num_queries = Whole(1, 1, _size, help="How many of the last tokens are queries.")
    offset = Whole(0, lambda self: -_size(self), _size, help="Query i sees keys up to i + offset.")
    window = Whole(1, 1, _size, help="Keys in a window, the one at i + offset included.")
    pads = Whole(0, 0, _size, help="Keys that are padding.")
    left = Flag(False, help="Whether the padding stands before the tokens.")
    prefix = Whole(0, 0, _size, help="How many of the first keys all queries see.")
    second = Whole(1, 1, lambda self: _size(self) - 1, help="Where the second document starts.")
    third = Whole(1, 1, _size, help="Where the third one starts; at the end there is none.")
    row = Whole(0, 0, lambda self: _size(self) - 1, help="The query that is read out.")

    @traitlets.validate("on")
    def _known(self, proposal: dict[str, Any]) -> list[str]:
        value = list(proposal["value"])
        if not set(value) <= set(RULES):
            raise ValueError(f"on must hold names from {', '.join(RULES)}, got {value}")
        return value

    def __repr__(self) -> str:
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

    The rules combine as usual: a prefix reopens what causal and window hide, and nothing what
    padding and documents hide. Scores are fixed numbers, made in the page. With documents it counts
    the pairs multiplied: each document for itself, all padded to the longest, and one row of all.

    Args:
        tokens: From 2 to 12 words; they are the keys, and the last ones are the queries.
        on: Rules that are on at first, of ``RULES``.
        num_queries: How many queries there are; None means as many as tokens.
        offset: Query i sees keys up to i + offset; the windows end there too.
        row: The query that is read out at first; None means the third, or the last of fewer.
    """
    check_strings(tokens=tokens, on=on)
    if not 2 <= len(tokens) <= 12:
        raise ValueError(f"tokens must be 2 to 12 words, got {len(tokens)}")
    size = len(tokens)
    half = size // 2
    return MaskPlayground(
        tokens=list(tokens),
        on=list(on),
        num_queries=size if num_queries is None else num_queries,
        offset=offset,
        row=min(2, size - 1) if row is None else row,
        window=min(3, size),
        pads=min(3, half),
        prefix=min(3, half),
        second=half,
        third=size,
    )
