"""What the implementations of a panel refuse: all that their contract does not promise."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Way = Callable[..., Any]


@dataclass(frozen=True)
class Contract:
    """What a contract promises of the arguments.

    Attributes:
        breaks: Says for the arguments of a call which promises they break.
    """

    breaks: Callable[..., dict[str, bool]]

    def strict(self, way: Way, *about: str) -> Way:
        """Return an implementation that raises where one of these promises, or any, is broken."""

        def held(*args: Any, **named: Any) -> Any:
            broken = self.breaks(*args, **named)
            for what in about or broken:
                if broken[what]:
                    raise TypeError(f"the contract promises another {what}")
            return way(*args, **named)

        return held

    def always(self, way: Way, *about: str) -> Callable[[], Way]:
        """Return what makes `strict(way, *about)`, for a way that keeps no state."""
        return lambda: self.strict(way, *about)


def raising(*args: Any, **named: Any) -> Any:
    """Refuse every input."""
    raise RuntimeError("this implementation always stops with an error")
