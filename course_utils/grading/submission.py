"""Find a learner's function in a notebook, with everything it needs and nothing else.

A notebook also trains, draws, and may set traps; a function is judged by itself. So its
definition is taken, and with it the definitions, imports and constants that it names, from
wherever they are, in the notebook's order. Statements that define nothing are left out.
"""

import ast
from collections.abc import Iterable

from course_utils.own.source import looked_up

_COMPOUND = (ast.If, ast.Try, ast.With)


def slice_for(name: str, cells: Iterable[str]) -> str | None:
    """Return the source that defines a name in a notebook, or None if nothing does.

    Args:
        name: The function that the exercise asks for.
        cells: The text of the code cells, in order. A cell that is not Python is skipped.
    """
    statements = [statement for cell in cells for statement in _statements(cell)]
    binds = [_bound(statement) for statement in statements]
    if not any(name in names for names in binds):
        return None
    wanted, seen, taken = {name}, set(), set()
    while wanted:
        current = wanted.pop()
        seen.add(current)
        for index, names in enumerate(binds):
            if current in names and index not in taken:
                taken.add(index)
                wanted |= _looked_up(statements[index]) - seen
    return "\n\n".join(ast.unparse(statements[index]) for index in sorted(taken)) + "\n"


def _statements(cell: str) -> list[ast.stmt]:
    # Notebook-only syntax (%magic, !shell) is left out.
    lines = ["" if line.lstrip().startswith(("%", "!")) else line for line in cell.split("\n")]
    try:
        tree = ast.parse("\n".join(lines))
        ast.unparse(tree)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    return tree.body


def _bound(statement: ast.stmt) -> set[str]:
    """Return the names that a statement defines."""
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return {(alias.asname or alias.name).partition(".")[0] for alias in statement.names}
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {statement.name}
    if isinstance(statement, _COMPOUND):
        return {name for inner in statement.body for name in _bound(inner)}
    if not isinstance(statement, ast.Assign | ast.AnnAssign | ast.AugAssign):
        return set()
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    inside = [node for target in targets for node in ast.walk(target)]
    return {n.id for n in inside if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}


def _looked_up(statement: ast.stmt) -> set[str]:
    try:
        return looked_up(ast.unparse(statement))
    except SyntaxError:
        return set()
