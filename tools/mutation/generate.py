"""Small changes of a function's source, made systematically: each is a mistake nobody listed.

A function is changed at one place at a time: in its own body, in that of a function of the same
file that it uses, or of a helper that the package does not export. What checks arguments and
raises is left alone.
"""

import ast
import copy
import inspect
import itertools
import linecache
import sys
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from tools.mutation.operators import changes
from tools.mutation.sites import Site, Span, read, sites

_COUNT = itertools.count()


@dataclass(frozen=True)
class Mutation:
    """One changed version of a function.

    Attributes:
        kind: What kind of mistake it is, e.g. "off by one".
        before: The code that was changed.
        after: What takes its place.
        line: The first line of the statement that holds it.
        span: The file, and the first and last of its lines that hold the statement.
        function: The changed function.
    """

    kind: str
    before: str
    after: str
    line: str
    span: Span
    function: Callable[..., Any]

    @property
    def name(self) -> str:
        """A description of the change, in one line."""
        where = "" if self.line == self.before else f" in {self.line}"
        return f"{self.before} -> {self.after}{where}"


def mutations(function: Callable[..., Any]) -> Iterator[Mutation]:
    """Yield every changed version of a function that can still be made a function."""
    home, name = sys.modules[function.__module__], function.__name__
    seen: set[str] = set()
    for site in sites(home, name):
        for kind, node in changes(site.node, site.parameters):
            before, after = ast.unparse(site.node), ast.unparse(node)
            at = f"{getattr(site.node, 'lineno', 0)}.{getattr(site.node, 'col_offset', 0)}"
            key = f"{site.module.__name__}:{at} {before} {after}"
            if before == after or key in seen:
                continue
            seen.add(key)
            made = _made(home, name, site, node)
            if made is not None:
                first, then = before.split("\n")[0], after.split("\n")[0]
                yield Mutation(kind, first, then, site.line, site.span, made)


def _made(
    home: types.ModuleType, name: str, site: Site, node: ast.AST
) -> Callable[..., Any] | None:
    """Return the function with the node in that place, or None where that is not Python."""
    try:
        space = _executed(site.module, _Replace(site.node, node).visit(read(site.module)))
        if site.module is not home:
            helpers = {
                key: space[value.__name__]
                for key, value in vars(home).items()
                if inspect.isfunction(value) and value.__module__ == site.module.__name__
            }
            space = _executed(home, read(home))
            space.update(helpers)
    except (SyntaxError, ValueError, TypeError, NameError):
        return None
    made: Any = space[name]
    return getattr(made, "fn", made)  # of a kernel, the plain function


def _executed(module: types.ModuleType, tree: ast.Module) -> dict[str, Any]:
    """Run a file's changed source; Triton reads that again, so it must be found."""
    text = ast.unparse(ast.fix_missing_locations(tree))
    file = f"<change {next(_COUNT)} of {module.__name__}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    space = {**vars(module)}
    exec(compile(text, file, "exec", dont_inherit=True), space)
    return space


class _Replace(ast.NodeTransformer):
    def __init__(self, site: ast.AST, node: ast.AST) -> None:
        self.at = _position(site)
        self.text = ast.dump(site)
        self.node = node

    def visit(self, node: ast.AST) -> Any:
        if _position(node) == self.at and ast.dump(node) == self.text:
            return copy.deepcopy(self.node)
        return super().visit(node)


def _position(node: ast.AST) -> tuple[Any, ...]:
    keys = ("lineno", "col_offset", "end_lineno", "end_col_offset")
    return type(node), *(getattr(node, key, None) for key in keys)
