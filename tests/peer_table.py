"""The hook that holds a test against a peer to what its mark says of it.

    @pytest.mark.peer("03", "`stable_softmax`", "`torch.softmax`", "float64 1e-7", "weights")

names the chapter, ours, theirs, the tolerance, and what is compared; the site's page "Tested
against whom" is made of these marks. `tests/conftest.py` takes the hook: a test that compares more
loosely than its mark says, or computes no gradients where the mark promises them, fails.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

import pytest


class Row(NamedTuple):
    """A row of the table, as a mark says it."""

    chapter: str
    ours: str
    peer: str
    tolerance: str
    compared: str

    @property
    def names(self) -> tuple[str, ...]:
        """The names of ours."""
        return tuple(re.findall(r"`(\w+)`", self.ours))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Watch the tests that are marked."""
    mark = item.get_closest_marker("peer")
    if mark is None:
        return (yield)
    from tests.peer_watch import Seen  # torch, which many other tests do without

    with Seen() as seen:
        out = yield
    seen.check(Row(*mark.args))
    return out
