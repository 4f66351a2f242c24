"""The definitions of a chapter's notebook: its records measure the code that the reader sees."""

import ast
from typing import Any

from course_utils.environment import ROOT
from tools.notebooks.files import sources_by_number


def definitions(chapter: str, *wanted: str, **given: Any) -> dict[str, Any]:
    """Return functions and constants of a notebook by name, with the functions that they call.

    Args:
        chapter: Its number, in two digits.
        *wanted: Names that are defined or assigned at the top level.
        **given: What they use and no definition makes.
    """
    source = sources_by_number(ROOT)[chapter]
    tree = ast.parse(source.read_text(encoding="utf-8"))
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    names, found = set(wanted), set[str]()
    while names - found:
        found |= names
        called = [functions[name] for name in names & functions.keys()]
        names = {one.id for node in called for one in ast.walk(node) if isinstance(one, ast.Name)}
        names &= functions.keys()
    kept = [node for node in tree.body if _is_import(node) or _names(node) & found]
    space: dict[str, Any] = dict(given)
    exec(compile(ast.Module(kept, []), str(source), "exec"), space)
    return space


def _is_import(node: ast.stmt) -> bool:
    return isinstance(node, ast.Import | ast.ImportFrom)


def _names(node: ast.stmt) -> set[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [node]
    return {getattr(one, "name", getattr(one, "id", "")) for one in targets}
