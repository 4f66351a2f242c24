"""Wrong lists of the positions in a rolling cache."""

from collections.abc import Callable
from typing import Any

from course_utils.attention import rolling_cache_positions as right
from course_utils.checking.exercise import Function


def of(change: Callable[[list[int]], Any]) -> Function:
    """Return something else made of the right list."""
    return lambda num_seen, window, num_sinks: change(right(num_seen, window, num_sinks))


def joined(num_seen: int, window: int, num_sinks: int) -> list[int]:
    """List sinks and window, though they overlap."""
    return [
        *range(min(num_sinks, num_seen)),
        *range(max(0, num_seen - window), num_seen),
    ]


def unlimited(num_seen: int, window: int, num_sinks: int) -> list[int]:
    """List all sinks, seen or not."""
    return sorted({*range(num_sinks), *range(max(0, num_seen - window), num_seen)})


def negative(num_seen: int, window: int, num_sinks: int) -> list[int]:
    """List the whole window, though the text is shorter."""
    sinks = min(num_sinks, num_seen)
    return sorted({*range(sinks), *range(num_seen - window, num_seen)})


def by_slots(num_seen: int, window: int, num_sinks: int) -> list[int]:
    """List the positions slot by slot, as the ring holds them."""
    slots: dict[int, int] = {}
    for position in range(num_seen):
        beyond = position - num_sinks
        slots[position if beyond < 0 else num_sinks + beyond % window] = position
    return [slots[slot] for slot in sorted(slots)]


def ring_of_all(num_seen: int, window: int, num_sinks: int) -> list[int]:
    """Forget the oldest, sinks among them, once sinks + window are full."""
    return list(range(max(0, num_seen - window - num_sinks), num_seen))


def newest_then_sinks(num_seen: int, window: int, num_sinks: int) -> list[int]:
    """List the window before the sinks."""
    held = right(num_seen, window, num_sinks)
    sinks = min(num_sinks, num_seen)
    return held[sinks:] + held[:sinks]


def nothing_before_full(num_seen: int, window: int, num_sinks: int) -> list[int]:
    """List nothing of a text that is shorter than the cache."""
    return right(num_seen, window, num_sinks) if num_seen >= window + num_sinks else []


def every_so_often(num_seen: int, window: int, num_sinks: int) -> list[int]:
    """List the sinks and every so many positions."""
    return [p for p in range(num_seen) if p < num_sinks or p % window == 0]
