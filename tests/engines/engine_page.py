"""A page in any engine that takes WebDriver's commands, driven as Playwright's pages are.

It has as much of Playwright's `Page` and `Locator` as the drives use, under the same names and
with the same meaning. What a hand does becomes events of the browser's own input.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.engines.engine_drivers import STALE, CommandFailed, Send, soon

Element = dict[str, str]
RUN = """
const done = arguments[arguments.length - 1];
const given = [...arguments].slice(0, -1);
(async () => {
    const made = (SOURCE);
    return typeof made === "function" ? made(...given) : made;
})().then((value) => done({ value }), (error) => done({ error: `${error}\n${error.stack}` }));
"""
CSS = "(path, ...within) => [...new Set(within.flatMap((e) => [...e.querySelectorAll(path)]))]"
XPATH = """(path, ...within) => within.flatMap((e) => {
    const all = document.evaluate(path, e, null, XPathResult.ORDERED_NODE_SNAPSHOT_TYPE);
    return Array.from({ length: all.snapshotLength }, (_, i) => all.snapshotItem(i));
})"""
TEXT = """(text, ...within) => within.flatMap((e) => [...e.querySelectorAll("*")].filter((one) =>
    [...one.childNodes].some((node) => node.nodeType === 3 && node.data.includes(text))))"""
VISIBLE = "(...within) => within.filter((e) => e.checkVisibility({ visibilityProperty: true }))"
ROLES = {
    "button": "button, summary, [role=button]",
    "checkbox": "input[type=checkbox]",
    "combobox": "select",
    "group": "fieldset, [role=group]",
    "slider": "input[type=range], [role=slider]",
    "tab": "[role=tab]",
    "textbox": "input:not([type]), input[type=text], textarea",
}
# The middle of an element once it stands still and nothing lies on it.
MIDDLE = """async (e) => {
    e.scrollIntoView({ block: "center", inline: "nearest", behavior: "instant" });
    const frame = () => new Promise(requestAnimationFrame);
    const box = () => Object.values(e.getClientRects()[0]?.toJSON() ?? {}).join();
    for (let before = null; before !== box(); await frame()) before = box();
    const [first] = e.getClientRects();
    if (!first || e.disabled) return null;
    const at = [first.x + first.width / 2, first.y + first.height / 2];
    const top = document.elementFromPoint(...at);
    return e.contains(top) || top?.closest("label")?.control === e ? at : null;
}"""
KEYS = {
    "Tab": "\ue004", "Enter": "\ue006", "Shift": "\ue008", "Control": "\ue009", "End": "\ue010",
    "Home": "\ue011", "ArrowLeft": "\ue012", "ArrowUp": "\ue013", "ArrowRight": "\ue014",
    "ArrowDown": "\ue015", "Space": " ",
}  # fmt: skip


class Page:
    """The one page of an engine."""

    def __init__(self, send: Send) -> None:
        self.send = send
        self.keyboard = Keyboard(send)
        self.mouse = Mouse(send)

    def goto(self, url: str) -> None:
        self.send("Navigate", url=url)

    def evaluate(self, source: str, *given: Any) -> Any:
        script = RUN.replace("SOURCE", source)
        said = self.send("ExecuteAsyncScript", script=script, args=list(given))
        if said is None:
            raise CommandFailed(STALE, "the page was left while the script ran")
        if "error" in said:
            raise AssertionError(said["error"])
        return said.get("value")

    def wait_for_function(self, source: str) -> Any:
        made = (
            f"const made = ({source}); return Boolean(typeof made === 'function' ? made() : made)"
        )
        return soon(lambda: self.evaluate(f"() => {{ {made} }}"), source)

    def wait_for_timeout(self, milliseconds: float) -> None:
        time.sleep(milliseconds / 1000)

    def set_viewport_size(self, size: dict[str, int]) -> None:
        """Ask for a window larger than this by what its frame takes."""
        self.send("SetWindowRect", x=0, y=0, **size)
        width, height = self.evaluate("[innerWidth, innerHeight]")
        outer = {"width": 2 * size["width"] - width, "height": 2 * size["height"] - height}
        self.send("SetWindowRect", x=0, y=0, **outer)

    def locator(self, path: str) -> "Locator":
        return self._all.locator(path)

    def get_by_role(self, role: str, **named: Any) -> "Locator":
        return self._all.get_by_role(role, **named)

    def get_by_text(self, text: str) -> "Locator":
        return self._all.get_by_text(text)

    @property
    def _all(self) -> "Locator":
        return Locator(self, lambda: [self.evaluate("document.documentElement")], "page")


@dataclass(frozen=True)
class Locator:
    """Elements to be looked for, anew each time that something is done with them."""

    page: Page
    find: Callable[[], list[Element]]
    says: str

    def __str__(self) -> str:
        return self.says

    def _then(self, step: Callable[[list[Element]], list[Element]], says: str) -> "Locator":
        return Locator(self.page, lambda: step(self.find()), f"{self} {says}")

    def _script(self, source: str, given: str) -> "Locator":
        return self._then(lambda within: self.page.evaluate(source, given, *within), given)

    def locator(self, path: str) -> "Locator":
        return self._script(*((XPATH, path[6:]) if path.startswith("xpath=") else (CSS, path)))

    def get_by_text(self, text: str) -> "Locator":
        return self._script(TEXT, text)

    def get_by_role(self, role: str, *, name: str = "", exact: bool = False) -> "Locator":
        """Those whose name, as the engine tells it to those who listen, is or contains this."""

        def is_named(element: Element) -> bool:
            (label,) = element.values()
            told = " ".join(self.page.send("GetComputedLabel", id=label).split())
            return told == name if exact else name.lower() in told.lower()

        def named(within: list[Element]) -> list[Element]:
            seen = self.page.evaluate(VISIBLE, *within)
            return [one for one in seen if is_named(one)] if name else seen

        return self.locator(ROLES[role])._then(named, f"{role} {name!r}")

    def nth(self, i: int) -> "Locator":
        return self._then(lambda found: found[i:][:1], str(i))

    @property
    def first(self) -> "Locator":
        return self.nth(0)

    @property
    def last(self) -> "Locator":
        return self.nth(-1)

    def all(self) -> list["Locator"]:
        return [self.nth(i) for i in range(self.count())]

    def count(self) -> int:
        return len(self.find())

    def evaluate(self, source: str, *given: Any) -> Any:
        """Call a function with the one element; where the page has just replaced it, again."""

        def call() -> list[Any]:
            found = self.find()
            assert len(found) < 2, f"{self}: {len(found)} elements"
            return [self.page.evaluate(source, *found, *given)] if found else []

        return soon(call, str(self))[0]

    def wait_for(self) -> None:
        soon(self.find, str(self))

    def inner_text(self) -> str:
        return str(self.evaluate("e => e.innerText"))

    def bounding_box(self) -> dict[str, float]:
        return dict(self.evaluate("e => e.getBoundingClientRect().toJSON()"))

    def scroll_into_view_if_needed(self) -> None:
        self.evaluate(MIDDLE)

    def click(self) -> None:
        self.page.mouse.click(*soon(lambda: self.evaluate(MIDDLE), f"{self} can be clicked"))

    def fill(self, text: str) -> None:
        self.click()
        self.page.keyboard.press("Control+A")
        self.page.keyboard.type(text)

    def select_option(self, *, label: str) -> None:
        find = "(e, label) => [...e.options].find((one) => one.text === label)"
        (option,) = self.evaluate(find, label).values()
        self.page.send("ElementClick", id=option)


class Keyboard:
    """Keys, by the names that Playwright gives them."""

    def __init__(self, send: Send) -> None:
        self.send = send

    def _act(self, *acts: tuple[str, str]) -> None:
        actions = [{"type": kind, "value": sign} for kind, sign in acts]
        self.send("PerformActions", actions=[{"type": "key", "id": "keys", "actions": actions}])

    def press(self, chord: str) -> None:
        """Press keys that are joined by "+" together."""
        signs = [KEYS.get(key, key.lower()) for key in chord.split("+")]
        self._act(*[("keyDown", one) for one in signs], *[("keyUp", one) for one in signs[::-1]])

    def type(self, text: str) -> None:
        self._act(*[(kind, sign) for sign in text for kind in ("keyDown", "keyUp")])


class Mouse:
    """One pointer with a button, in CSS pixels of the window."""

    def __init__(self, send: Send) -> None:
        self.send = send
        self.at = (0.0, 0.0)

    def _act(self, *actions: dict[str, Any]) -> None:
        mouse = {"type": "pointer", "id": "mouse", "actions": list(actions)}
        self.send("PerformActions", actions=[mouse])

    def move(self, x: float, y: float, steps: int = 1) -> None:
        (left, top), self.at = self.at, (x, y)
        shares = [i / steps for i in range(1, steps + 1)]
        path = [(left + (x - left) * share, top + (y - top) * share) for share in shares]
        self._act(*[{"type": "pointerMove", "x": round(x), "y": round(y)} for x, y in path])

    def down(self) -> None:
        self._act({"type": "pointerDown", "button": 0})

    def up(self) -> None:
        self._act({"type": "pointerUp", "button": 0})

    def click(self, x: float, y: float) -> None:
        self.move(x, y)
        self.down()
        self.up()
