"""Arguments that `patch_explorer` accepts and refuses."""

from typing import Any

import pytest

from course_utils.measure import read_record
from course_utils.widgets import patch_explorer
from tests.widgets.patch_explorer import patch_explorer_cases

RECORD = read_record(patch_explorer_cases.RECORD)


def test_it_opens_on_a_zero_in_order() -> None:
    assert repr(patch_explorer(RECORD)) == (
        "PatchExplorer(a 0, patch=2, layer=1, head=1, positions=True, shuffle=0)"
    )
    assert repr(patch_explorer(RECORD, image=7, patch=4, shuffle=2, positions=False)) == (
        "PatchExplorer(a 3, patch=4, layer=1, head=1, positions=False, shuffle=2)"
    )


@pytest.mark.parametrize(
    ("settings", "error", "says"),
    [
        ({"patch": 3}, ValueError, "patch must be one of 2, 4, got 3"),
        ({"width": 1}, TypeError, "settings must be among head, .*, got 'width'"),
    ],
)
def test_wrong_settings_are_said(
    settings: dict[str, Any], error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        patch_explorer(RECORD, **settings)
