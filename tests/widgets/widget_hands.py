"""Two hands for any widget: the mouse, and the keyboard alone."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from playwright.sync_api import Locator, Page

Hand = Literal["mouse", "keys"]
Act = Callable[[Page, Locator], None]


@dataclass(frozen=True)
class Step:
    """One thing that a reader does: where, and how with each hand."""

    find: Callable[[Locator], Locator]
    mouse: Act
    keys: Act

    def take(self, root: Locator, hand: Hand) -> None:
        found = self.find(root)
        if hand == "mouse":
            found.scroll_into_view_if_needed()
            self.mouse(root.page, found)
        else:
            reach(root, found)
            self.keys(root.page, found)


# An element that nobody can reach any more loses the focus in some engines.
BEGIN = """e => {
    e.tabIndex = -1;
    e.focus();
    e.addEventListener("blur", () => e.removeAttribute("tabindex"), { once: true });
}"""


def reach(root: Locator, found: Locator) -> None:
    """Press Tab from the widget's beginning until the control has the focus."""
    root.evaluate(BEGIN)
    for _ in range(60):
        root.page.keyboard.press("Tab")
        if found.evaluate("e => e === document.activeElement"):
            return
    raise AssertionError(f"Tab never reaches {found}")


def typed(*keys: str) -> Act:
    def act(page: Page, _: Locator) -> None:
        for key in keys:
            page.keyboard.press(key)

    return act


def click_at(page: Page, found: Locator, x: float, y: float) -> None:
    """Click at shares of a box's width and height."""
    box = found.bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + x * box["width"], box["y"] + y * box["height"])


def slide(name: str, to: Literal["Home", "End"]) -> Step:
    """Take a slider to an end of its track."""
    return Step(
        lambda root: root.get_by_role("slider", name=name, exact=True),
        lambda page, found: click_at(page, found, 0.99 if to == "End" else 0.01, 0.5),
        typed(to),
    )


def tick(name: str) -> Step:
    return Step(
        lambda root: root.get_by_role("checkbox", name=name, exact=True),
        lambda page, found: found.click(),
        typed("Space"),
    )


def press(find: Callable[[Locator], Locator]) -> Step:
    return Step(find, lambda page, found: found.click(), typed("Enter"))


def pick(label: str, option: str) -> Step:
    """Choose from a list; what a click opens is the browser's own and no part of the page."""

    def down(page: Page, found: Locator) -> None:
        now, wanted = found.evaluate(
            "(e, text) => [e.selectedIndex, [...e.options].findIndex((o) => o.text === text)]",
            option,
        )
        for _ in range(abs(wanted - now)):
            page.keyboard.press("ArrowDown" if wanted > now else "ArrowUp")
        chosen = found.evaluate("e => e.selectedOptions[0].text")
        assert chosen == option

    def choose(_: Page, found: Locator) -> None:
        found.select_option(label=option)

    return Step(lambda root: root.get_by_role("combobox", name=label, exact=True), choose, down)


def cell(plot: str, shape: list[int], row: int, column: int) -> Step:
    """Choose a cell of a picture of weights that stands at its first cell."""

    def click(page: Page, found: Locator) -> None:
        canvas = found.locator("canvas").first
        click_at(page, canvas, (column + 0.5) / shape[3], (row + 0.5) / shape[2])
        page.mouse.move(0, 0)

    arrows = typed(*["ArrowDown"] * row, *["ArrowRight"] * column)
    return Step(lambda root: root.locator(plot), click, arrows)


def bare(text: str) -> str:
    """Text without the marks that keep tokens apart, and with one kind of blank."""
    for sign in "\u2068\u2069":
        text = text.replace(sign, "")
    return text.replace("\u00a0", " ")


def expect_said(root: Locator, words: list[str]) -> None:
    """Wait until the widget says all of these; fail where it does not within a minute."""
    text = ""
    for _ in range(1200):
        text = bare(root.inner_text())
        if all(one in text for one in words):
            return
        root.page.wait_for_timeout(50)
    raise AssertionError(f"must say {[one for one in words if one not in text]}, says {text}")
