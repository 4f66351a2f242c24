"""Watch what a test really compares, and at which tolerance: held against its row of the table."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
import torch

from tests.peer_table import Row

_REAL_COMPARE = torch.testing.assert_close


@dataclass
class Seen:
    """The comparisons of one run of a test."""

    loosest: tuple[float, str] = (0.0, "equal")
    gradients: bool = False
    _patch: pytest.MonkeyPatch = field(default_factory=pytest.MonkeyPatch)

    def __enter__(self) -> "Seen":
        self._patch.setattr(torch.testing, "assert_close", self._compare)
        for name in ("grad", "backward"):
            real = getattr(torch.autograd, name)
            self._patch.setattr(torch.autograd, name, self._noticed(real))
        return self

    def __exit__(self, *_: object) -> None:
        self._patch.undo()

    def check(self, row: Row) -> None:
        """Fail unless this is what the row says."""
        if self.loosest[1] != row.tolerance:
            pytest.fail(f"the mark says {row.tolerance}, the test compares {self.loosest[1]}")
        if self.gradients != ("gradients" in row.compared):
            found = "gradients" if self.gradients else "no gradients"
            pytest.fail(f"the mark says {row.compared!r}, the test computes {found}")

    def _compare(self, actual: Any, expected: Any, **options: Any) -> None:
        __tracebackhide__ = True
        for dtype in _dtypes(actual):
            # Torch takes rtol and atol only together.
            given = "rtol" in options
            room = max(options["rtol"], options["atol"]) if given else _default(dtype)
            self.loosest = max(self.loosest, _said(dtype, room))
        _REAL_COMPARE(actual, expected, **options)

    def _noticed(self, real: Any) -> Any:
        def call(*given: Any, **options: Any) -> Any:
            self.gradients = True
            return real(*given, **options)

        return call


def _said(dtype: torch.dtype, room: float) -> tuple[float, str]:
    if not room or not dtype.is_floating_point:
        return 0.0, "equal"
    number = f"{room:.1e}".replace(".0e", "e").replace("e-0", "e-")
    return room, f"{str(dtype).removeprefix('torch.')} {number}"


def _default(dtype: torch.dtype) -> float:
    return torch.testing._comparison.default_tolerances(dtype)[0]


def _dtypes(given: Any) -> Iterator[torch.dtype]:
    if isinstance(given, torch.Tensor):
        yield given.dtype
    elif isinstance(given, Mapping):
        yield from _dtypes(list(given.values()))
    elif isinstance(given, list | tuple):
        for one in given:
            yield from _dtypes(one)
    elif isinstance(given, float):
        yield torch.float64  # compared at its tolerance
