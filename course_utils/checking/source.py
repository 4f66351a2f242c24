"""The source of a learner's function, with all that it needs of the notebook it was written in.

Imports, constants, helper functions and classes are followed by name, as Python would look them up,
and written out in an order in which they can be run again: the text is a module of its own.
"""

import ast
import importlib
import inspect
import linecache
import math
import symtable
import sys
import sysconfig
import textwrap
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import torch

_LARGEST = 256  # numbers of a tensor that are written out
_PLAIN = (bool, int, float, str, bytes, complex, type(None), type(...))


class NoSourceError(ValueError):
    """There is something that a file cannot hold; the message says what, as a clause."""


def module_source(answer: Any, name: str) -> str:
    """Return a module that defines an answer under a name.

    Args:
        answer: A function that somebody wrote.
        name: What it is to be called.

    Raises:
        NoSourceError: It, or something it needs, cannot be written as text.
    """
    inner = inspect.unwrap(answer)
    if not isinstance(inner, FunctionType):
        raise NoSourceError("it is not a function with a source of its own")
    if not _is_own(inner.__module__):
        raise NoSourceError("it is a library's function, not one that was written here")
    text = _Text(inner.__globals__, inner.__module__)
    text.add(name, answer)
    return text.module(annotations_are_text=bool(inner.__code__.co_flags & _FUTURE))


_FUTURE = importlib.import_module("__future__").annotations.compiler_flag


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
        """Add what makes a name mean this value, and first all that this needs."""
        if name in self.seen:
            return
        self.seen.add(name)
        if type(value) in _PLAIN:
            self.constants.append(f"{name} = {self._literal(name, value)}")
        elif isinstance(value, ModuleType):
            plain = value.__name__ == name
            self.imports.add(f"import {value.__name__}" + ("" if plain else f" as {name}"))
        elif self._is_from_here(value):
            self._define(name, value)
        elif (line := _import_line(name, value)) is not None:
            self.imports.add(line)
        else:
            self.constants.append(f"{name} = {self._literal(name, value)}")

    def _is_from_here(self, value: Any) -> bool:
        written = (
            isinstance(inspect.unwrap(value), FunctionType | type) if callable(value) else False
        )
        return written and value.__module__ == self.home

    def _define(self, name: str, value: Any) -> None:
        inner = inspect.unwrap(value)
        node, lines = _definition(inner)
        source = ast.get_source_segment(lines, node)
        if source is None or getattr(inner, "__closure__", None):
            raise NoSourceError(f"`{name}` was made inside another function")
        if isinstance(node, ast.Lambda):
            source = f"{name} = ({source})" if "\n" in source else f"{name} = {source}"
        else:
            first = _first_line(node)
            source = textwrap.dedent("\n".join(lines.splitlines()[first - 1 : node.end_lineno]))
            if node.name != name:
                self.seen.add(node.name)
                source += f"\n\n\n{name} = {node.name}"
        for needed in _needed(source):
            if needed in self.names:
                self.add(needed, self.names[needed])
        self.definitions.append(source)

    def _literal(self, name: str, value: Any) -> str:
        """Write a value as Python would read it."""
        if type(value) is float and not math.isfinite(value):
            return f'float("{value}")'
        if type(value) in _PLAIN:
            return repr(value)
        if isinstance(value, torch.dtype | torch.device):
            self.imports.add("import torch")
            return str(value) if isinstance(value, torch.dtype) else f"torch.{value!r}"
        if type(value) is dict:
            pairs = (
                (self._literal(name, key), self._literal(name, one)) for key, one in value.items()
            )
            return f"{{{', '.join(f'{key}: {one}' for key, one in pairs)}}}"
        if type(value) in (list, tuple, set):
            inside = ", ".join(self._literal(name, one) for one in value)
            if type(value) is list:
                return f"[{inside}]"
            if type(value) is tuple:
                return f"({inside}{',' * bool(value)})"
            return f"{{{inside}}}" if value else "set()"
        if type(value) is torch.Tensor and value.numel() <= _LARGEST:
            self.imports.add("import torch")
            return f"torch.tensor({self._literal(name, value.tolist())}, dtype={value.dtype})"
        kind = type(value).__name__
        raise NoSourceError(f"it uses `{name}`, and no text can hold that {kind}")


def _is_own(module: str | None) -> bool:
    """Say whether a module is the learner's: the notebook, or a file of no library's."""
    found = sys.modules.get(module or "")
    if module == "__main__" or found is None:
        return module is not None
    if module is None or module.partition(".")[0] in {"course_utils", *sys.stdlib_module_names}:
        return False
    file = getattr(found, "__file__", None)
    libraries = [sysconfig.get_path(kind) for kind in ("purelib", "platlib", "stdlib")]
    return file is not None and not any(Path(file).is_relative_to(folder) for folder in libraries)


def _import_line(name: str, value: Any) -> str | None:
    """Return the line that imports a value under a name, from the shortest place that has it."""
    own = getattr(value, "__name__", None) or getattr(value, "__qualname__", None) or name
    home = getattr(value, "__module__", None)
    if not isinstance(own, str):
        return None
    parts = home.split(".") if isinstance(home, str) and home != "__main__" else []
    places = [".".join(parts[:length]) for length in range(1, len(parts) + 1)]
    for place in [*places, "torch", "torch.nn.functional", "math", "builtins"]:
        for known in dict.fromkeys((own, name)):
            if getattr(sys.modules.get(place), known, _NOTHING) is value:
                return f"from {place} import {known}" + ("" if known == name else f" as {name}")
    return None


_NOTHING = object()


def _definition(inner: Any) -> tuple[ast.FunctionDef | ast.ClassDef | ast.Lambda, str]:
    """Return the node that made a function or class, and the text that it stands in."""
    codes = list(_codes(inner))
    text = "".join(linecache.getlines(codes[0].co_filename)) if codes else ""
    if not text:
        raise NoSourceError(f"the source of `{inner.__name__}` is not known any more")
    first = min(code.co_firstlineno for code in codes)
    kinds = ast.FunctionDef | ast.ClassDef | ast.Lambda
    nodes = [node for node in ast.walk(ast.parse(text)) if isinstance(node, kinds)]
    found = [node for node in nodes if _made(node, inner, first)]
    if len(found) != 1:
        raise NoSourceError(
            f"the source of `{inner.__name__}` cannot be told from what is beside it"
        )
    return found[0], text


def _made(node: ast.FunctionDef | ast.ClassDef | ast.Lambda, inner: Any, line: int) -> bool:
    """Say whether a node made a function whose code begins in a line, or a class that holds it."""
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
    """Yield the code of a function, or of the methods that stand in a class."""
    for value in [inner] if not isinstance(inner, type) else vars(inner).values():
        made = inspect.unwrap(value) if callable(value) else getattr(value, "fget", None)
        if isinstance(made, FunctionType) and made.__module__ == inner.__module__:
            yield made.__code__


def _needed(source: str) -> list[str]:
    """Return the names that a definition takes from around it, in the order of the alphabet."""
    found: set[str] = set()

    def visit(table: symtable.SymbolTable) -> None:
        top = table.get_type() == "module"
        for symbol in table.get_symbols():
            if symbol.is_referenced() and (top or symbol.is_global()):
                found.add(symbol.get_name())
        for inner in table.get_children():
            visit(inner)

    visit(symtable.symtable(source, "<answer>", "exec"))
    return sorted(found)
