"""Every trait of every widget refuses what it cannot hold, by name."""

import math
from collections.abc import Iterator
from typing import Any

import pytest

from course_utils.widgets.traits import Choice, Flag, Index, Number, PowerOfTwo, Whole
from tests.widgets.widget_drives import DRIVES

WRONG_TYPES = {Flag: (1, "yes"), Whole: (True, 1.5, "1"), Number: (True, "1")}


def refused(widget: Any) -> Iterator[tuple[str, Any, type[Exception]]]:
    """Yield a trait, a value that it cannot hold, and the error that says so."""
    for name, trait in widget.traits().items():
        for kind, values in WRONG_TYPES.items():
            if isinstance(trait, kind):
                yield from ((name, value, TypeError) for value in values)
        if isinstance(trait, Choice):
            yield name, "nothing of the kind", ValueError
        if isinstance(trait, Whole | Number):
            least, most = (
                end(widget) if callable(end) else end for end in (trait.least, trait.most)
            )
            beyond = [end + by for end, by in ((least, -1), (most, 1)) if math.isfinite(end)]
            yield from ((name, value, ValueError) for value in beyond)
        if isinstance(trait, Number):
            yield name, math.nan, ValueError
        if isinstance(trait, PowerOfTwo):
            yield name, 3, ValueError


@pytest.mark.parametrize("name", DRIVES)
def test_a_trait_refuses_what_it_cannot_hold(name: str) -> None:
    widget = DRIVES[name].make()
    for trait, value, error in refused(widget):
        before = getattr(widget, trait)
        with pytest.raises(error, match=rf"^{trait} must be .*got"):
            setattr(widget, trait, value)
        assert getattr(widget, trait) == before


def test_the_rules_are_said_in_words() -> None:
    found = {type(trait) for drive in DRIVES.values() for trait in drive.make().traits().values()}
    assert found >= {Choice, Flag, Index, Number, PowerOfTwo, Whole}
