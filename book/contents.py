"""The content of `book.yml`, in the form that the site's build needs.

`book.yml` has Jupyter Book 2's form and names files as the repository has them. The site
shows `book/glossary.md` as `glossary` and `notebooks/03_x.ipynb` as `notebooks/03_x`. Pages below
`book/instructor/` are for the instructor's edition alone.
"""

from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[1]  # of the course whose book this is
SITES = {"learner": "html", "instructor": "html-instructor"}  # in `_build`, by edition
Entry = dict[str, Any]


def project(root: Path) -> Entry:
    """Return the `project` part of `book.yml` below `root`."""
    return yaml.safe_load((root / "book.yml").read_text(encoding="utf-8"))["project"]


def page(file: str) -> str:
    """Return where a file of the repository stands in the site's tree, `book/` being its top."""
    return file.removeprefix("book/")


def docname(file: str) -> str:
    """Return Sphinx's name for a file of the repository."""
    return page(file).rpartition(".")[0]


def files(toc: list[Entry]) -> list[str]:
    """Return every file that a table of contents names, in reading order."""
    return [file for file, _ in titles(toc)]


def titles(toc: list[Entry]) -> list[tuple[str, str]]:
    """Return every file that a table of contents names, with the title that it has there or ""."""
    found = []
    for entry in toc:
        found += [(entry["file"], entry.get("title", ""))] if "file" in entry else []
        found += titles(entry.get("children", []))
    return found


def is_notebook(file: str) -> bool:
    """Return whether a file is a chapter's notebook."""
    return file.startswith("notebooks/")


def of_edition(toc: list[Entry], edition: str) -> list[Entry]:
    """Return the table of contents that an edition has: the learner's lacks what is not for it."""
    if edition == "instructor":
        return toc
    kept = []
    for entry in toc:
        if entry.get("file", "").startswith("book/instructor/"):
            continue
        children = of_edition(entry.get("children", []), edition)
        if "file" in entry or "url" in entry or children or "children" not in entry:
            kept.append({**entry, "children": children} if children else entry)
    return kept


def external_toc(toc: list[Entry]) -> Entry:
    """Translate a table of contents of Jupyter Book 2 into one of sphinx-external-toc.

    Args:
        toc: Entries with `file`, `url` or `title`, and `children`. The first is the front page. A
            `title` beside a file stands for the page's own in the contents; without one it captions
            the entries below.

    Raises:
        ValueError: The first entry is not a file, or another is neither page, address nor caption.
    """
    if not toc or "file" not in toc[0]:
        raise ValueError("book.yml: the table of contents must begin with the front page's file")
    parts: list[Entry] = []
    for entry in toc[1:]:
        if "file" in entry or "url" in entry:
            parts.append({"chapters": [_chapter(entry)]})
        elif entry.get("children"):
            chapters = [_chapter(child) for child in entry["children"]]
            parts.append({"caption": entry["title"], "chapters": chapters})
        else:
            raise ValueError(f"book.yml: an entry needs file, url or children, got {entry}")
    return {"format": "jb-book", "root": docname(toc[0]["file"]), "parts": parts}


def _chapter(entry: Entry) -> Entry:
    if "url" in entry:
        return {key: entry[key] for key in ("url", "title") if key in entry}
    if "file" not in entry:
        raise ValueError(f"book.yml: below a caption an entry needs file or url, got {entry}")
    chapter: Entry = {"file": docname(entry["file"])}
    if "title" in entry:
        chapter["title"] = entry["title"]
    if entry.get("children"):
        chapter["sections"] = [_chapter(child) for child in entry["children"]]
    return chapter
