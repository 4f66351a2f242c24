"""The definitions of a chapter's notebook: its records measure the code that the reader sees."""

import ast
from typing import Any

from course_utils.environment import ROOT
from tools.notebooks.files import sources_by_number


def definitions(chapter: str, *wanted: str, **given: Any) -> dict[str, Any]:
    """Return functions and constants of a notebook by name.

    Args:
        chapter: Its number, in two digits.
        *wanted: Names that are defined or assigned at the top level.
        **given: What they use and no definition makes.
    """
    source = sources_by_number(ROOT)[chapter]
    tree = ast.parse(source.read_text(encoding="utf-8"))
    kept = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else [node]
        names = {getattr(one, "name", getattr(one, "id", None)) for one in targets}
        if names & {*wanted}:
            kept.append(node)
    space: dict[str, Any] = dict(given)
    exec(compile(ast.Module(kept, []), str(source), "exec"), space)
    return space
