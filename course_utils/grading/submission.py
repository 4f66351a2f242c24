"""Find a learner's function in a notebook, with everything it needs and nothing else.

A notebook also trains, draws, and may set traps; a function is judged by itself. So its
definition is taken, and with it the statements that give, or fill, the names that it uses, from
wherever they are, in the notebook's order. All others are left out.
"""

import ast
import builtins
import functools
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from course_utils.answers.source import looked_up

_STAR = "*"
_OWN_SCOPE = (
    ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda
    | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
)  # fmt: skip


class _Statement(NamedTuple):
    """A statement of a notebook's top level: the names that it binds, and those that it fills."""

    source: str
    binds: frozenset[str]
    fills: frozenset[str]
    imports: bool


def slice_for(name: str, cells: Iterable[str]) -> str | None:
    """Return the source that defines a name in a notebook, or None if nothing does.

    Args:
        name: The function that the exercise asks for.
        cells: The text of the code cells, in order. A cell that is not Python is skipped.
    """
    statements = [statement for cell in cells for statement in _statements(cell)]
    if not any(name in one.binds for one in statements):
        return None
    made = {each for one in statements if not one.imports for each in one.binds}
    known = {each for one in statements for each in one.binds} | set(vars(builtins))
    wanted, seen, taken = {name}, set(), set()
    while wanted:
        current = wanted.pop()
        seen.add(current)
        for index, one in enumerate(statements):
            fills = current in one.fills and current in made  # a module's settings stay as they are
            # A name that nothing binds may come from any `import *`.
            starred = _STAR in one.binds and current not in known
            if index not in taken and (current in one.binds or fills or starred):
                taken.add(index)
                wanted |= _looked_up(one.source) - seen
    return "\n\n".join(statements[index].source for index in sorted(taken)) + "\n"


@functools.lru_cache(maxsize=2048)  # `check` reads the same cells again and again
def _statements(cell: str) -> tuple[_Statement, ...]:
    # Notebook-only syntax (%magic, !shell) is left out.
    lines = ["" if line.lstrip().startswith(("%", "!")) else line for line in cell.split("\n")]
    try:
        tree = ast.parse("\n".join(lines))
        return tuple(map(_statement, tree.body))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()


def _statement(node: ast.stmt) -> _Statement:
    binds, fills = set[str](), set[str]()
    for inner in _outside_functions(node):
        binds |= _bound(inner)
        fills |= _filled(inner)
    imports = isinstance(node, ast.Import | ast.ImportFrom)
    return _Statement(ast.unparse(node), frozenset(binds), frozenset(fills), imports)


def _outside_functions(node: ast.AST) -> Iterator[ast.AST]:
    """Yield a node and what is in it, except what runs in a scope of its own."""
    yield node
    if isinstance(node, _OWN_SCOPE):
        return
    for inner in ast.iter_child_nodes(node):
        yield from _outside_functions(inner)


def _bound(node: ast.AST) -> set[str]:
    """Return the names that a node by itself gives a value."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        return {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {node.name}
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        return {node.id}
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
        called = node.value.func if isinstance(node.value, ast.Call) else None
        names = isinstance(called, ast.Name) and called.id == "globals"  # globals()["NAME"] = ...
        if names and isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
            return {node.slice.value}
    return set()


def _filled(node: ast.AST) -> set[str]:
    """Return the name of what a node changes: by `x[i] = `, `x.y = `, `x.append(...)`, setattr."""
    if isinstance(node, ast.Subscript | ast.Attribute) and isinstance(
        node.ctx, ast.Store | ast.Del
    ):
        return _owner(node.value)
    if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)):
        return set()
    call = node.value
    if isinstance(call.func, ast.Attribute):
        return _owner(call.func.value)
    by_name = isinstance(call.func, ast.Name) and call.func.id == "setattr" and call.args
    return _owner(call.args[0]) if by_name else set()


def _owner(node: ast.AST) -> set[str]:
    """Return the name at the beginning of `x`, `x.y` or `x[i]`."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return {node.id} if isinstance(node, ast.Name) else set()


def _looked_up(source: str) -> set[str]:
    try:
        return looked_up(source)
    except SyntaxError:
        return set()
