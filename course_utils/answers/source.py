"""The source of a learner's function, with everything it needs from its notebook.

Imports, constants, helper functions and classes are followed by name, as Python would look them up,
and written out in an order in which they can be run again: the text is a module of its own.
"""

import __future__

import ast
import inspect
import linecache
import symtable
import sys
import sysconfig
import textwrap
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

from course_utils.answers.literals import PLAIN, NoTextError, import_line, literal

_FUTURE = __future__.annotations.compiler_flag


def module_source(answer: Any, name: str) -> str:
    """Return a module that defines an answer under a name.

    Args:
        answer: A learner's function.
        name: The name to give it.

    Raises:
        NoTextError: It, or something it needs, cannot be written as text.
    """
    inner = inspect.unwrap(answer)
    if not isinstance(inner, FunctionType):
        raise NoTextError("it is not a function with a source of its own")
    if not _is_own(inner.__module__):
        raise NoTextError("it is a library's function, not one that was written here")
    text = _Text(inner.__globals__, inner.__module__)
    text.add(name, answer)
    return text.module(annotations_are_text=bool(inner.__code__.co_flags & _FUTURE))


class _Text:
    """Gathers the parts of a module: imports, then everything else, each after what it needs."""

    def __init__(self, names: dict[str, Any], home: str) -> None:
        self.names, self.home = names, home
        self.imports: set[str] = set()
        self.constants: list[str] = []
        self.definitions: list[str] = []
        self.seen: set[str] = set()

    def module(self, annotations_are_text: bool) -> str:
        future = "from __future__ import annotations" if annotations_are_text else ""
        # `import` before `from`, as in every notebook here.
        imports = sorted(self.imports, key=lambda line: (line.startswith("from"), line))
        blocks = [future, "\n".join(imports), "\n".join(self.constants)]
        text = "\n\n".join(filter(None, blocks))
        return "\n\n\n".join(filter(None, [text, *self.definitions])) + "\n"

    def add(self, name: str, value: Any) -> None:
        """Add what gives a name this value, after everything that needs."""
        if name in self.seen:
            return
        self.seen.add(name)
        if isinstance(value, ModuleType):
            plain = value.__name__ == name
            self.imports.add(f"import {value.__name__}" + ("" if plain else f" as {name}"))
        elif self._is_from_here(value):
            self._define(name, value)
        elif type(value) not in PLAIN and (line := import_line(name, value)):
            self.imports.add(line)
        else:
            self._add_constant(name, value)

    def _add_constant(self, name: str, value: Any) -> None:
        try:
            text = literal(value)
        except NoTextError as reason:
            raise NoTextError(f"it uses `{name}`, and {reason}") from None
        if "torch." in text:
            self.imports.add("import torch")
        self.constants.append(f"{name} = {text}")

    def _is_from_here(self, value: Any) -> bool:
        written = callable(value) and isinstance(inspect.unwrap(value), FunctionType | type)
        return written and value.__module__ == self.home

    def _define(self, name: str, value: Any) -> None:
        inner = inspect.unwrap(value)
        node, lines = _definition(inner)
        source = ast.get_source_segment(lines, node)
        if source is None or getattr(inner, "__closure__", None):
            raise NoTextError(f"`{name}` was made inside another function")
        if isinstance(node, ast.Lambda):
            source = f"{name} = ({source})" if "\n" in source else f"{name} = {source}"
        else:
            first = _first_line(node)
            source = textwrap.dedent("\n".join(lines.splitlines()[first - 1 : node.end_lineno]))
            if node.name != name:
                self.seen.add(node.name)
                source += f"\n\n\n{name} = {node.name}"
        for needed in sorted(looked_up(source)):
            if needed in self.names:
                self.add(needed, self.names[needed])
        self.definitions.append(source)


def _is_own(module: str | None) -> bool:
    """Return whether a module is the learner's: the notebook, or a file of no library's."""
    found = sys.modules.get(module or "")
    if module == "__main__" or found is None:
        return module is not None
    if module is None or module.partition(".")[0] in {"course_utils", *sys.stdlib_module_names}:
        return False
    file = getattr(found, "__file__", None)
    libraries = [sysconfig.get_path(kind) for kind in ("purelib", "platlib", "stdlib")]
    return file is not None and not any(Path(file).is_relative_to(folder) for folder in libraries)


def _definition(inner: Any) -> tuple[ast.FunctionDef | ast.ClassDef | ast.Lambda, str]:
    """Return the node that defines a function or class, and the text that it is in."""
    codes = list(_codes(inner))
    text = "".join(linecache.getlines(codes[0].co_filename)) if codes else ""
    if not text:
        raise NoTextError(f"the source of `{inner.__name__}` is not known any more")
    first = min(code.co_firstlineno for code in codes)
    kinds = ast.FunctionDef | ast.ClassDef | ast.Lambda
    nodes = [node for node in ast.walk(ast.parse(text)) if isinstance(node, kinds)]
    found = [node for node in nodes if _made(node, inner, first)]
    if len(found) != 1:
        raise NoTextError(f"the source of `{inner.__name__}` cannot be told from what is beside it")
    return found[0], text


def _made(node: ast.FunctionDef | ast.ClassDef | ast.Lambda, inner: Any, line: int) -> bool:
    """Return whether a node defines a function whose code begins on a line, or a class with one."""
    if isinstance(node, ast.Lambda):
        return inner.__name__ == "<lambda>" and node.lineno == line
    if node.name != inner.__name__ or isinstance(node, ast.ClassDef) != isinstance(inner, type):
        return False
    last = (node.end_lineno or 0) if isinstance(inner, type) else _first_line(node)
    return _first_line(node) <= line <= last


def _first_line(node: ast.FunctionDef | ast.ClassDef) -> int:
    """Return the line of a definition's first decorator, or its own."""
    return min([node.lineno, *(one.lineno for one in node.decorator_list)])


def _codes(inner: Any) -> Iterator[CodeType]:
    """Yield the code of a function, or of the methods of a class."""
    for value in [inner] if not isinstance(inner, type) else vars(inner).values():
        made = inspect.unwrap(value) if callable(value) else getattr(value, "fget", None)
        if isinstance(made, FunctionType) and made.__module__ == inner.__module__:
            yield made.__code__


def looked_up(source: str) -> set[str]:
    """Return the names that statements, or functions in them, take from the enclosing scope.

    Raises:
        SyntaxError: They are not valid on their own.
    """
    tables, names = [symtable.symtable(source, "<answer>", "exec")], set()
    while tables:
        table = tables.pop()
        tables += table.get_children()
        top = table.get_type() == "module"
        symbols = [one for one in table.get_symbols() if one.is_referenced()]
        names |= {one.get_name() for one in symbols if top or one.is_global()}
    return names
