"""Places where a function may be changed: its own body, and those of the functions it uses."""

import ast
import functools
import inspect
import sys
import types
from collections.abc import Iterator
from dataclasses import dataclass

Span = tuple[str, int, int]
MECHANISMS = ("course_utils.attention", "course_utils.positions")


@dataclass(frozen=True)
class Site:
    """A node that may be changed.

    Attributes:
        module: The file that it stands in.
        node: The node.
        statement: The statement that holds it.
        parameters: What the function takes.
    """

    module: types.ModuleType
    node: ast.AST
    statement: ast.stmt
    parameters: list[str]

    @property
    def line(self) -> str:
        """The first line of the statement."""
        return ast.unparse(self.statement).split("\n")[0]

    @property
    def span(self) -> Span:
        """The file, and the first and last of its lines that hold the statement."""
        body = getattr(self.statement, "body", None)
        last = body[0].lineno - 1 if body else self.statement.end_lineno or 0
        return str(self.module.__file__), self.statement.lineno, last


def sites(home: types.ModuleType, name: str) -> Iterator[Site]:
    """Yield the nodes of a function, and of those that it uses, which may be changed."""
    wanted, done = [(home, name)], set()
    while wanted:
        module, current = wanted.pop()
        if (module, current) in done or "check" in current:
            continue
        done.add((module, current))
        functions = _functions(module)
        if current not in functions:
            wanted.extend(_elsewhere(home, module, current))
            continue
        function = functions[current]
        parameters = [argument.arg for argument in function.args.args]
        for statement in _at_work(function):
            for node, holder in _inside(statement, statement):
                yield Site(module, node, holder, parameters)
                if isinstance(node, ast.Name):
                    wanted.append((module, node.id))


def read(module: types.ModuleType) -> ast.Module:
    """Return the source of a file, to be changed at will."""
    return ast.parse(inspect.getsource(module))


@functools.cache
def _functions(module: types.ModuleType) -> dict[str, ast.FunctionDef]:
    return {node.name: node for node in read(module).body if isinstance(node, ast.FunctionDef)}


def _elsewhere(
    home: types.ModuleType, module: types.ModuleType, name: str
) -> Iterator[tuple[types.ModuleType, str]]:
    """Yield where a mechanism's helper stands that the exercise's own file imports.

    What the package offers has tests of its own, as has the clinic's comparison.
    """
    found = vars(module).get(name)
    if module is home and inspect.isfunction(found):
        part = ".".join(found.__module__.split(".")[:2])
        if part in MECHANISMS and found.__name__ not in sys.modules[part].__all__:
            yield sys.modules[found.__module__], found.__name__


def _at_work(function: ast.FunctionDef) -> list[ast.stmt]:
    """Return the statements of a function without those that only serve its checks."""
    body = function.body[1 if ast.get_docstring(function) else 0 :]
    body = [statement for statement in body if not _only_checks(statement)]
    used = {n.id for s in body for n in ast.walk(s) if _is_read(n) and isinstance(n, ast.Name)}
    return [
        s for s in body if not isinstance(s, ast.Assign) or _targets(s) & used or not _targets(s)
    ]


def _targets(statement: ast.Assign) -> set[str]:
    return {target.id for target in statement.targets if isinstance(target, ast.Name)}


def _is_read(node: ast.AST) -> bool:
    return isinstance(getattr(node, "ctx", None), ast.Load)


def _inside(node: ast.AST, statement: ast.stmt) -> Iterator[tuple[ast.AST, ast.stmt]]:
    if isinstance(node, ast.Raise | ast.JoinedStr | ast.Assert) or _only_checks(node):
        return
    if isinstance(node, ast.keyword) and node.arg == "device":  # there is one here
        return
    if isinstance(node, ast.stmt):
        statement = node
    if isinstance(node, ast.expr | ast.stmt) and not isinstance(
        getattr(node, "ctx", None), ast.Store
    ):
        yield node, statement
    for field, child in ast.iter_fields(node):
        if field in ("annotation", "returns", "ctx"):
            continue
        for part in child if isinstance(child, list) else [child]:
            if isinstance(part, ast.AST):
                yield from _inside(part, statement)


def _only_checks(node: ast.AST) -> bool:
    if isinstance(node, ast.If | ast.For):
        found = [part for part in node.body if not isinstance(part, ast.Raise)]
        return not node.orelse and all(_only_checks(part) for part in found)
    call = node.value if isinstance(node, ast.Expr) else None
    return isinstance(call, ast.Call) and "check" in ast.unparse(call.func)
