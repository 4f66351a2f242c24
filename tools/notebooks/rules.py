"""The rules that a chapter's source must keep, each broken one named with its line."""

import ast
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tools.notebooks.minutes import path_faults
from tools.notebooks.outputs import VARYING
from tools.notebooks.source import TOLD, Asked, Cell, Chapter, with_data

CODE_LINES = 30
PROSE_WORDS = 120
VARYING_SHARE = 0.15
_FORBIDDEN_TAGS = ("nbval-skip", "raises-exception")
_NBVAL_COMMENT = re.compile(r"^\s*#\s*(NBVAL_|PYTEST_VALIDATE_)")
_NO_PROSE = re.compile(r"```.*?```|\$\$.*?\$\$|<!--.*?-->|<[^<>]+>", re.DOTALL)

Fault = tuple[int, str]
AskedOf = Callable[[str], Asked]


def faults(chapter: Chapter, asked_of: AskedOf) -> list[Fault]:
    """Return every broken rule of a chapter with its line, in the order of the file.

    Args:
        chapter: The source.
        asked_of: From an exercise's name to its data; raises KeyError for unknown ones.
    """
    found: list[Fault] = []
    for cell in chapter.cells:
        found += cell.problems
        if cell.kind == "code":
            found += _code_faults(cell)
        else:
            found += _prose_faults(cell)
    found += _exercise_faults(chapter, asked_of)
    found += _too_many_ignored(chapter)
    found += path_faults(with_data(chapter, asked_of))
    return sorted(found)


def asked_twice(chapters: Sequence[Chapter]) -> Iterator[tuple[Chapter, int, str]]:
    """Yield chapter, line and message of every exercise that an earlier chapter asked already."""
    seen: dict[str, Chapter] = {}
    for chapter in chapters:
        for cell in chapter.cells:
            if cell.exercise is None:
                continue
            first = seen.setdefault(cell.exercise, chapter)
            if first is not chapter:
                says = f'the exercise "{cell.exercise}" is already asked in {first.file}'
                yield chapter, cell.line, says


def _prose_faults(cell: Cell) -> Iterator[Fault]:
    words = re.findall(r"\S*[^\W\d_]\S*", _NO_PROSE.sub(" ", cell.source))
    if len(words) > PROSE_WORDS:
        yield cell.line, f"prose must keep to {PROSE_WORDS} words a cell, got {len(words)}"
    if not cell.source.strip():
        yield cell.line, "the cell is empty"


def _code_faults(cell: Cell) -> Iterator[Fault]:
    solved, stubbed = cell.solved(), cell.stubbed()
    lines = cell.source.split("\n")
    length = max(solved.count("\n"), stubbed.count("\n")) + 1
    if not solved.strip():
        yield cell.line, "the cell is empty"
    if length > CODE_LINES:
        yield cell.line, f"code must keep to {CODE_LINES} lines a cell, got {length}"
    if solved.endswith(";"):
        where = cell.line + len(lines) - 1
        yield where, "nbval does not see a closing `;`: assign the value to `_` instead"
    for index, text in enumerate(lines):
        if _NBVAL_COMMENT.match(text):
            yield cell.line + index, f'use the tag "{VARYING}" with a reason, not a comment'
    yield from _tag_faults(cell)
    if not cell.problems:
        yield from _python_faults(cell)


def _python_faults(cell: Cell) -> Iterator[Fault]:
    try:
        tree = ast.parse(cell.source)
    except SyntaxError as error:
        yield cell.line + (error.lineno or 1) - 1, f"not valid Python: {error.msg}"
        return
    try:
        ast.parse(cell.stubbed())
    except SyntaxError as error:
        yield cell.line, f"not valid Python once the regions are taken out: {error.msg}"
    functions = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)]
    for region in cell.regions:
        mark = region.begin + 1
        if not any(f.lineno < mark < (f.end_lineno or 0) for f in functions):
            yield cell.line + region.begin, "a region must stand inside a function"
        elif cell.exercise is None:
            says = 'a region must stand in an exercise\'s cell, `# %% exercise="name"`'
            yield cell.line + region.begin, says


def _tag_faults(cell: Cell) -> Iterator[Fault]:
    reason = cell.metadata.get("reason")
    if VARYING in cell.tags and not (isinstance(reason, str) and reason.strip()):
        yield cell.line, f'the tag "{VARYING}" needs its reason: `reason="why the output varies"`'
    for tag in _FORBIDDEN_TAGS:
        if tag in cell.tags:
            yield cell.line, f'the tag "{tag}" is not used here: every cell runs without an error'


def _too_many_ignored(chapter: Chapter) -> Iterator[Fault]:
    code = [cell for cell in chapter.cells if cell.kind == "code"]
    ignored = [cell for cell in code if VARYING in cell.tags]
    allowed = max(1, int(VARYING_SHARE * len(code)))
    if len(ignored) > allowed:
        says = f'at most {allowed} of {len(code)} code cells may carry "{VARYING}"'
        yield ignored[allowed].line, f"{says}, got {len(ignored)}"


def _exercise_faults(chapter: Chapter, asked_of: AskedOf) -> Iterator[Fault]:
    seen: dict[str, int] = {}
    told = False
    following = (*chapter.cells[1:], None)
    for cell, after in zip(chapter.cells, following, strict=True):
        name = cell.exercise
        told = told or TOLD in cell.source
        if name is None:
            continue
        if not told:
            yield cell.line, f'the prose before the exercise "{name}" must hold the line {TOLD}'
        told = False
        if name in seen:
            yield cell.line, f'the exercise "{name}" was already asked in line {seen[name]}'
        seen.setdefault(name, cell.line)
        if not cell.regions and not cell.problems:
            yield cell.line, f'the exercise "{name}" has no region for the learner to fill'
        yield from _signature_faults(cell, name, asked_of)
        if after is None or not _checks(after, name):
            yield cell.line, f'the next cell must be `check("{name}", {name})`'


def _signature_faults(cell: Cell, name: str, asked_of: AskedOf) -> Iterator[Fault]:
    try:
        wanted = asked_of(name).signature
    except KeyError as error:
        yield cell.line, str(error.args[0])
        return
    found = [n for n in _statements(cell) if isinstance(n, ast.FunctionDef) and n.name == name]
    if not found:
        yield cell.line, f"the cell must define a function `{name}`"
        return
    (asked,) = ast.parse(f"def {wanted.partition('->')[0]}: ...").body
    ours, theirs = _parameters(found[-1]), _parameters(asked)
    if ours != theirs:
        line = cell.line + found[-1].lineno - 1
        yield line, f"`{name}` must take ({theirs}), as its exercise says, got ({ours})"


def _parameters(function: Any) -> str:
    for node in ast.walk(function.args):
        if isinstance(node, ast.arg):
            node.annotation = None
    return ast.unparse(function.args)


def _checks(cell: Cell, name: str) -> bool:
    nodes = (node for statement in _statements(cell) for node in ast.walk(statement))
    return any(ast.unparse(node) == f"check({name!r}, {name})" for node in nodes)


def _statements(cell: Cell) -> list[ast.stmt]:
    try:
        return ast.parse(cell.source).body
    except SyntaxError:  # a fault of its own
        return []
