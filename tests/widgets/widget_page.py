"""A static page that shows widgets as the site does: saved state, the site's host, no kernel."""

import json
import statistics
from pathlib import Path
from typing import Any

import pytest
from ipywidgets.embed import embed_data
from playwright.sync_api import Page

ROOT = Path(__file__).parents[2]
HOST = ROOT / "book" / "_static" / "anywidget-host.js"
AXE = ROOT / "node_modules" / "axe-core" / "axe.min.js"
KIND = "application/vnd.jupyter.widget-"


def saved(widgets: list[Any]) -> dict[str, Any]:
    """Return the widgets' state as a notebook keeps it, binary values in base64."""
    return dict(embed_data(views=widgets, drop_defaults=False)["manager_state"])


def static_page(widgets: list[Any], theme: str | None = None) -> str:
    """Return a page of its own; theme "light" or "dark" is set as the site's theme sets it."""

    def script(kind: str, content: Any) -> str:
        text = json.dumps(content).replace("</", "<\\/")
        return f'<script type="{KIND}{kind}+json">{text}</script>'

    views = "\n".join(
        script("view", {"version_major": 2, "version_minor": 0, "model_id": w.model_id})
        for w in widgets
    )
    mark = f' data-theme="{theme}"' if theme else ""
    back = "#14181e" if theme == "dark" else "#fff"
    return f"""<!doctype html>
<html lang="en"{mark}><head><meta charset="utf-8"><title>Widgets</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<style>body {{ margin: 1rem; font-family: sans-serif; background: {back} }}</style></head>
<body><main><h1 style="font-size: 1rem; color: #777; background: #fff">Widgets</h1>
{views}</main>
{script("state", saved(widgets))}
<script>{HOST.read_text(encoding="utf-8")}</script></body></html>"""


def assert_readable(page: Page, width: int) -> None:
    """Fail where axe finds something in a widget, or the page is wider than its window."""
    if not AXE.exists():
        pytest.skip("axe-core is not installed: run npm ci")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.add_script_tag(content=AXE.read_text(encoding="utf-8"))
    found = page.evaluate("async () => (await axe.run('.acw')).violations")
    assert found == [], json.dumps(found, indent=1)


def hovered(page: Page) -> tuple[int, list[int]]:
    """Point at 200 places of a heatmap; return how often pixels were painted, and what changed.

    What changed is a number for each place: of the nodes and attributes of the page. The median of
    the times, from the event to the laid-out readout, is printed.
    """
    paints, changes, times = page.evaluate(
        """() => {
            let paints = 0;
            const context = CanvasRenderingContext2D.prototype;
            const put = context.putImageData;
            context.putImageData = function (...given) { paints++; return put.apply(this, given); };
            const canvas = document.querySelector(".acw-plot canvas");
            const box = canvas.getBoundingClientRect();
            const seen = new MutationObserver(() => {});
            const all = { subtree: true, childList: true, attributes: true, characterData: true };
            seen.observe(document.body, all);
            const [changes, times] = [[], []];
            for (let i = 0; i < 200; i++) {
                const clientX = box.x + (9 + i * 37) % box.width;
                const clientY = box.y + (i * 53) % box.height;
                const event = new PointerEvent("pointermove", { clientX, clientY, bubbles: true });
                const start = performance.now();
                canvas.dispatchEvent(event);
                canvas.getBoundingClientRect();
                times.push(performance.now() - start);
                changes.push(seen.takeRecords().length);
            }
            context.putImageData = put;
            return [paints, changes, times];
        }"""
    )
    print(f"hover: median {statistics.median(times):.2f} ms, worst {max(times):.2f} ms")
    return paints, changes
