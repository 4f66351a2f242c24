"""Read a widget that a chapter's solutions notebook holds: what its last run showed."""

import base64
from typing import Any

import nbformat

from course_utils.environment import ROOT
from tools.notebooks.outputs import STATE


def stored(chapter: str, widget: str) -> dict[str, Any]:
    """Return the traits of the chapter's last widget of that name, bytes decoded."""
    (path,) = (ROOT / "solutions").glob(f"{chapter}_*.ipynb")
    models = nbformat.read(path, as_version=4).metadata.widgets[STATE]["state"].values()
    of_page = f".widgets.{widget}."
    model = [m for m in models if of_page in str(m["state"].get("_anywidget_id"))][-1]
    buffers = {one["path"][0]: base64.b64decode(one["data"]) for one in model.get("buffers", [])}
    return {**model["state"], **buffers}
