"""Mistakes of other exercises, made in the inside of one of this chapter."""

from collections.abc import Callable, Iterable

from course_utils.checking.exercise import Function, Misconception


def lifted(
    mistakes: Iterable[Misconception],
    wrap: Callable[[Function], Function],
    without: Iterable[str] = (),
) -> tuple[Misconception, ...]:
    """Return the mistakes, each of their versions wrapped, except those that go by these names."""
    left_out = set(without)
    return tuple(
        Misconception(
            mistake.name,
            wrap(mistake.wrong),
            mistake.says,
            also=tuple(wrap(version) for version in mistake.also),
        )
        for mistake in mistakes
        if mistake.name not in left_out
    )
