"""The table of the page "Tested against whom", made of the marks on the tests themselves."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from book.blocks import block, code_words, table
from book.contents import ROOT
from course_utils.environment import read_pins
from tools.notebooks.minutes import counted

HEAD = ("Ch.", "Ours", "Peer", "Tolerance", "Compared", "Test")
Mark = tuple[str, ...]


def marks(folder: Path = ROOT / "tests") -> Iterator[tuple[Mark, str, str]]:
    """Yield what each mark says, and the file, below the folder, and name of its test."""
    for path in sorted(folder.rglob("test_*.py")):
        named: dict[str, ast.expr] = {}  # a mark of several tests is a constant of its file
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.Assign):
                named[ast.unparse(node.targets[0])] = node.value
            for mark in getattr(node, "decorator_list", []):
                mark = named.get(ast.unparse(mark), mark)
                if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.peer":
                    said = tuple(str(ast.literal_eval(argument)) for argument in mark.args)
                    file = path.relative_to(folder).as_posix()
                    yield said, file, node.name  # type: ignore[attr-defined]


def markdown() -> str:
    """Return the table, a row for each peer, by chapter, and which versions they are."""
    rows: dict[Mark, list[str]] = {}
    for said, file, name in marks():
        rows.setdefault(said, []).append(f"<code>{file}</code> <code>{name}</code>")
    cells = [
        (*map(code_words, said), _folded(tests))
        for said, tests in sorted(rows.items(), key=lambda row: row[0][0])
    ]
    pins = read_pins(ROOT, "test")
    versions = f"PyTorch {pins['torch']}, transformers {pins['transformers']}"
    return block(table(HEAD, cells, "claims"), f"<p>The versions: {versions}.</p>")


def without_peer(page: str) -> set[str]:
    """Return the names that the page says to have no peer."""
    return set(re.findall(r"`(\w+)`", page.partition("## What has no peer")[2]))


def _folded(tests: list[str]) -> str:
    count = counted(len(tests), "test")
    return f"<details><summary>{count}</summary>{'<br>'.join(tests)}</details>"
