"""Every widget is driven with the mouse and with the keyboard alone; its numbers are Python's."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page

from tests.widgets.widget_drives import DRIVES
from tests.widgets.widget_hands import Hand, expect_said

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("over", ["http", "file"])
@pytest.mark.parametrize("hand", ["mouse", "keys"])
@pytest.mark.parametrize("name", DRIVES)
def test_it_shows_what_python_says(
    open_page: Callable[..., Page], name: str, hand: Hand, over: str
) -> None:
    drive = DRIVES[name]
    widget = drive.make()
    root = open_page([widget], over=over).locator(".acw")
    for step in drive.steps(widget):
        step.take(root, hand)
    expect_said(root, drive.says(widget))
