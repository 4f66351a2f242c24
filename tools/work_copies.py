"""The learner's own copies of the notebooks, in `work/`: `make learn` makes and opens them.

What JupyterLab saves then changes no file of the course. A copy holds in its metadata a digest of
the cells that the course gave. While its cells are still those, it is renewed when the course's
change, and only outputs are lost; once they are not, nothing here writes to it again.
"""

import hashlib
import json
from contextlib import suppress
from pathlib import Path
from typing import Any

FOLDER = "work"
KEY = "attention_course_cells"  # in a copy's metadata


def renew(root: Path) -> list[str]:
    """Make the copies that are missing, renew those that were not edited, and return what to say.

    Args:
        root: The course, with the folder `notebooks`; the copies are beside that, in `work`.

    Raises:
        OSError: A copy cannot be written.
    """
    told = []
    folder = root / FOLDER
    folder.mkdir(exist_ok=True)
    for source in sorted((root / "notebooks").glob("*.ipynb")):
        course = json.loads(source.read_text(encoding="utf-8"))
        copy, now = folder / source.name, _digest(course)
        given, text = _given_and_now(copy)
        if copy.exists() and given == now:
            continue
        if copy.exists() and (given is None or given != text):
            told.append(
                f"{source.stem} has changed since you edited {FOLDER}/{source.name}, which stays "
                "as it is: give yours another name, and `make learn` puts the new one there."
            )
            continue
        course["metadata"][KEY] = now
        partial = copy.with_suffix(".part")
        partial.write_text(json.dumps(course, indent=1, ensure_ascii=False) + "\n", "utf-8")
        partial.replace(copy)
    return told


def _given_and_now(copy: Path) -> tuple[str | None, str | None]:
    """Return the digests of the cells that a copy was made with, and of those that it has now."""
    with suppress(OSError, ValueError, KeyError, TypeError, AttributeError):
        notebook = json.loads(copy.read_text(encoding="utf-8"))
        return notebook["metadata"].get(KEY), _digest(notebook)
    return None, None


def _digest(notebook: dict[str, Any]) -> str:
    """Return a digest of a notebook's cells: their kinds and texts, without outputs."""
    cells = [(cell["cell_type"], "".join(cell["source"])) for cell in notebook["cells"]]
    return hashlib.sha256(json.dumps(cells).encode()).hexdigest()
