"""Figures on a dark page: the twin that the builder drew beside each takes its place there.

A twin comes as a second form of the figure's output. On the page both stand in one place, with one
text, and the theme shows either: so a figure is told, numbered and printed once.
"""

import hashlib
from base64 import b64decode
from pathlib import Path

from docutils import nodes
from nbformat import NotebookNode
from sphinx.transforms import SphinxTransform

FOLDER = "dark"  # at the top of the site's sources


def taken_out(notebook: NotebookNode) -> dict[str, bytes]:
    """Take the dark twins out of a notebook's outputs, changed in place.

    Returns:
        Each twin under the file name that `Twins` looks for.
    """
    from course_utils.dark_figures import MIME  # with matplotlib, which Sphinx does not need

    found = {}
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            twin = output.get("data", {}).pop(MIME, None)
            if twin is not None:
                name = _name(hashlib.sha256(b64decode(output.data["image/png"])).hexdigest())
                found[name] = b64decode(twin)
                # A page is read again when its notebook changed.
                output.metadata["dark"] = hashlib.sha256(found[name]).hexdigest()
    return found


class Twins(SphinxTransform):
    """Put its twin beside each figure that has one; MyST-NB names a figure by its content."""

    default_priority = 500

    def apply(self) -> None:
        """Change the page that was just read."""
        for figure in list(self.document.findall(nodes.image)):
            name = _name(Path(figure["uri"]).stem)
            if (self.env.srcdir / FOLDER / name).is_file():
                twin = figure.deepcopy()
                twin["uri"], twin["loading"] = f"/{FOLDER}/{name}", "lazy"
                figure["classes"].append("only-light")
                twin["classes"].append("only-dark")
                figure.parent.insert(figure.parent.index(figure) + 1, twin)


def _name(figure: str) -> str:
    return f"{figure}-dark.png"
