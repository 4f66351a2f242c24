"""The picture of chapter 17: pairs of keys and values, kept in a cache or in a state."""

from collections.abc import Sequence
from typing import Any

import traitlets

from course_utils.plain_validation import check_ints
from course_utils.widgets.traits import Choice, CourseWidget, Items, Number, PowerOfTwo, Whole

KINDS = ("softmax", "sum", "fade", "delta", "gated delta")
"""Ways of keeping the past: a cache, or a state that is added to, faded, corrected, or both."""

MOST, KEYS, VALUES = 48, 24, 10
START = tuple((key, (7 * key + 3) % VALUES) for key in range(6))


class StateExplorer(CourseWidget, page="state_explorer"):
    """The widget that ``state_explorer`` makes; its traits follow buttons, sliders and bars."""

    kind = Choice(KINDS, "sum", help="How the past is kept.")
    writes = Items(help="The pairs in the order of arrival: a key's number and a digit.")
    width = PowerOfTwo(8, 4, 32, help="Numbers of a key and of a value.")
    fade = Number(0.9, 0.5, 1, help="What a fading state keeps from pair to pair.")
    asked = Whole(0, help="The key that is asked for again.")

    @traitlets.validate("writes")
    def _writes(self, proposal: dict[str, Any]) -> list[list[int]]:
        return _pairs(proposal["value"])

    @traitlets.validate("asked")
    def _asked(self, proposal: dict[str, Any]) -> int:
        value = int(proposal["value"])
        known = {pair[0] for pair in self.writes}
        if known and value not in known:
            raise ValueError(f"asked must be a key that was written, got {value}")
        return value

    def __repr__(self) -> str:
        return f"StateExplorer({self.kind}, {len(self.writes)} pairs, width={self.width})"


def _pairs(writes: Sequence[Sequence[int]]) -> list[list[int]]:
    """Return the pairs as lists; raise where there are none or too many, or a key is skipped."""
    given = [list(pair) for pair in writes]
    if not 1 <= len(given) <= MOST:
        raise ValueError(f"writes must be from 1 to {MOST} pairs, got {len(given)}")
    seen = 0
    for pair in given:
        if len(pair) != 2 or not (0 <= pair[0] <= min(seen, KEYS - 1) and 0 <= pair[1] < VALUES):
            raise ValueError(
                f"each pair must be a key from 0 to {min(seen, KEYS - 1)}, the next new one, "
                f"and a value from 0 to {VALUES - 1}, got {pair}"
            )
        seen = max(seen, pair[0] + 1)
    return given


def state_explorer(
    writes: Sequence[Sequence[int]] = START,
    *,
    kind: str = "sum",
    width: int = 8,
    fade: float = 0.9,
    asked: int = 0,
) -> StateExplorer:
    """Let pairs of a key and a value arrive, and see what can be read back.

    Args:
        writes: From 1 to 48 pairs: a key's number, new ones in turn from 0 to 23, and a digit.
        kind: One of ``KINDS``.
        width: Numbers of a key and of a value: 4, 8, 16 or 32.
        fade: What a fading state keeps of itself at each pair, from 0.5 to 1.
        asked: The key asked for at first; one that was written.
    """
    for pair in writes:
        check_ints(writes=pair)
    return StateExplorer(writes=_pairs(writes), kind=kind, width=width, fade=fade, asked=asked)
