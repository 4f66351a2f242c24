"""Check a page with axe: at everything it judges, and at nothing twice."""

from typing import Any

from tests.book.book_support import ROOT

AXE = ROOT / "node_modules" / "axe-core" / "axe.min.js"
# axe takes seconds to weigh every glyph, though it judges none, and every word of code. So formulas
# drawn as paths leave first, each kind of word is marked up once, and colours are weighed once for
# all elements with one tag, class, parent and colours on the same grounds.
RUN_AXE = """async (rules) => {
    for (const drawn of document.querySelectorAll("mjx-container > svg")) {
        if (!drawn.querySelector("text")) drawn.replaceChildren();
    }
    const words = new Set();
    for (const word of document.querySelectorAll("pre span")) {
        const kind = word.className + word.style.cssText;
        if (words.has(kind)) word.replaceWith(...word.childNodes);
        words.add(kind);
    }
    const looks = new Set();
    const grounds = new Map();
    for (const one of document.querySelectorAll("*")) {
        const style = getComputedStyle(one);
        const said = (names) => names.map((name) => style[name]).join();
        grounds.set(one, grounds.get(one.parentElement)
            + said(["backgroundColor", "backgroundImage", "opacity"]));
        const look = [one.localName, one.className, one.parentElement?.localName,
            said(["color", "fontSize", "fontWeight", "textDecorationLine"]), grounds.get(one)];
        const isFirst = one.getClientRects().length > 0 && !looks.has(look.join());
        one.toggleAttribute("data-look", isFirst);
        if (isFirst) looks.add(look.join());
    }
    axe.configure({ rules: [
        { id: "color-contrast", selector: "[data-look]" },
        { id: "link-in-text-block", selector: "a[data-look]" },
    ] });
    const found = await axe.run({ ...rules, resultTypes: ["violations"], selectors: false });
    return found.violations.map((one) =>
        `${one.id} (${one.impact}): ${one.nodes[0].html.slice(0, 300)}`);
}"""
# What the dark changes is colours; on a phone everything has the colours that it has in light.
COLOURS = ["color-contrast", "link-in-text-block"]
RULES: dict[str, dict[str, Any]] = {
    "dark": {"runOnly": COLOURS},
    "phone": {"rules": {rule: {"enabled": False} for rule in COLOURS}},
}
