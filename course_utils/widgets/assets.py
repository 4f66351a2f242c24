"""The text of a widget: one ES module and one style sheet, without a bundler.

A notebook and a static page keep a widget's module as a single text that can import nothing beside
it. Helpers that widgets share nevertheless have files of their own: a line
``import { names } from "../file.js";`` is replaced here by that file. Node reads the files as they
are, so the tests run the sources themselves. Comments and indentation are dropped: each instance
of a widget keeps a copy of its module in the notebook.
"""

import re
from pathlib import Path

_HERE = Path(__file__).parent
_COMMENT = re.compile(r"^ *//[^\n]*\n|^ */\*\*.*?\*/\n", re.MULTILINE | re.DOTALL)
_IMPORT = re.compile(r'^import \{[^}]*\} from "(\.{1,2}/[\w./]+)";\n', re.MULTILINE)


def module(name: str) -> str:
    """Return the ES module ``name`` with the files it imports inlined, each once.

    Args:
        name: A file, found from this folder, such as ``heatmap/heatmap.js``.
    """
    seen: set[Path] = set()

    def read(file: Path) -> str:
        if file in seen:
            return ""
        seen.add(file)
        text = file.read_text(encoding="utf-8")
        return _IMPORT.sub(lambda found: read((file.parent / found[1]).resolve()), text)

    whole = read((_HERE / name).resolve())
    return re.sub(r"^ +", "", _COMMENT.sub("", whole), flags=re.MULTILINE)


def style(name: str) -> str:
    """Return the style sheet ``name`` after the one that all widgets share."""
    return "".join((_HERE / file).read_text(encoding="utf-8") for file in ("shared.css", name))
