"""Let a panel's implementations refuse everything that their contract does not promise."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Way = Callable[..., Any]


@dataclass(frozen=True)
class Contract:
    """A contract's promises about the arguments.

    Attributes:
        breaks: Returns which promises the arguments of a call break.
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
        """Return a maker of `strict(way, *about)`, for an implementation without state."""
        return lambda: self.strict(way, *about)


def raising(*args: Any, **named: Any) -> Any:
    """Refuse every input."""
    raise RuntimeError("this implementation always stops with an error")
