"""A static page that shows widgets as the site does: saved state, the site's host, no kernel."""

import json
from pathlib import Path
from typing import Any

from ipywidgets.embed import embed_data

ROOT = Path(__file__).parents[2]
HOST = ROOT / "site" / "_static" / "anywidget-host.js"
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
