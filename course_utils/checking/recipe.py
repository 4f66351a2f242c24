"""A right answer in named steps, and mistakes as the lines that replace them.

A step is any assignment or the return, at any depth; its name is what it assigns to, as written
(`scores`, `out[..., 0]`, `m, l`), or `return`. A mistake's line replaces the step of its name;
where a name is set twice, by `=` and by `+=`, it replaces the one that looks like it. A line that
sets a new name, or sets none, comes just before the next one that replaces a step. Lines that
define the whole function replace everything.
"""

import ast
import builtins
import dis
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from types import CodeType
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from course_utils import attention, models, positions

Function = Callable[..., Any]
# What every line may use; an exercise's own module adds to it.
VOCABULARY: Mapping[str, Any] = {
    **{
        name: getattr(room, name)
        for room in (models, positions, attention)
        for name in room.__all__
    },
    **{"math": math, "torch": torch, "F": F, "Tensor": Tensor},
}


_SWITCHES = "_switches"


class RecipeError(ValueError):
    """A right answer or a line of a mistake that is malformed."""


# By the name of a step, the lines that take its place: new ones, and last the one of that name.
_Edits = dict[str, tuple[ast.stmt, ...]]


class Recipe:
    """One right answer, from which wrong ones are made.

    Args:
        name: The function's name.
        right: Its source.
        home: The names that its lines may use in addition to `VOCABULARY`, read when one is made.
    """

    def __init__(self, name: str, right: str, home: Callable[[], Mapping[str, Any]]) -> None:
        self.name = name
        self._right = right
        self._home = home
        self._edits: dict[str, _Edits | None] = {}
        self._functions: dict[tuple[str, ...], Function] = {}

    def function(self, *versions: str) -> Function:
        """Return the right answer with the lines of these versions in it; with none, as it is.

        Raises:
            RecipeError: A line is not Python, or replaces no step.
        """
        if versions not in self._functions:
            names = self._names()
            exec(self.code(*versions), names)
            self._functions[versions] = names[self.name]
        return self._functions[versions]

    def code(self, *versions: str) -> CodeType:
        """Compile what `function` runs."""
        tree = ast.parse(self._source)
        steps = list(_walk(tree.body))
        for version in versions:
            edits = self._parsed(version)
            if edits is None:
                return compile(version, f"<{self.name}, wrong>", "exec")
            for name, lines in edits.items():
                block, statement = steps[self._steps[name]]
                at = block.index(statement)
                block[at : at + 1] = lines
        return compile(tree, f"<{self.name}>", "exec")

    def board(self, versions: Sequence[str]) -> tuple[Function, list[bool]]:
        """Return the right answer with all these versions in it, and a switch for each, all off.

        It saves compiling every pair separately. Versions that are on together set different names.
        """
        tree = ast.parse(self._source)
        switches = [False] * len(versions)
        chains: dict[int, list[ast.If]] = {}
        for number, version in enumerate(versions):
            for name, lines in (self._parsed(version) or {}).items():
                test = ast.parse(f"{_SWITCHES}[{number}]", mode="eval").body
                chains.setdefault(self._steps[name], []).append(ast.If(test, list(lines), []))
        steps = list(_walk(tree.body))
        for at, chain in chains.items():
            block, statement = steps[at]
            for one, following in zip(chain, [*chain[1:], statement], strict=True):
                one.orelse = [following]
            block[block.index(statement)] = chain[0]
        names = {**self._names(), _SWITCHES: switches}
        exec(compile(ast.fix_missing_locations(tree), f"<{self.name}>", "exec"), names)
        made: Function = names[self.name]
        return made, switches

    def sets(self, version: str) -> frozenset[str]:
        """Return every name that a version sets, or an empty set where it replaces everything."""
        return frozenset(name for line in self._lines(version) for name in _names(line))

    def unknown(self, *versions: str) -> set[str]:
        """Return the global names that a version reads and nothing defines."""
        known = self._names()
        read = set(_globals(self.code(*versions)))
        return {name for name in read if name not in known and not hasattr(builtins, name)}

    def unused(self, version: str) -> set[str]:
        """Return the new names that a version sets and no line of it reads: slips of the pen."""
        lines = self._lines(version)
        nodes = (node for line in (*lines, ast.parse(self._source)) for node in ast.walk(line))
        read = {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
        new = {name for line in lines for name in _names(line) if name.isidentifier()}
        return new - read - self._steps.keys()

    def _lines(self, version: str) -> list[ast.stmt]:
        return [line for lines in (self._parsed(version) or {}).values() for line in lines]

    def _names(self) -> dict[str, Any]:
        return {**VOCABULARY, **self._home()}

    @cached_property
    def _source(self) -> str:
        """The right answer, after checking that it defines the function."""
        tree = self._parse(self._right, "its right answer")
        if not any(isinstance(one, ast.FunctionDef) and one.name == self.name for one in tree.body):
            raise RecipeError(f"{self.name}: its right answer must define {self.name}")
        return self._right

    @cached_property
    def _steps(self) -> dict[str, int]:
        """The statements that are steps which a line may replace, by name.

        Where a name is set more than once, `=` and `+=` tell its steps apart; what is still
        ambiguous is left out.
        """
        statements = [statement for _, statement in _walk(ast.parse(self._source).body)]
        found: dict[str, list[int]] = {}
        for number, statement in enumerate(statements):
            for name in _names(statement):
                found.setdefault(name, []).append(number)
        several = {name: numbers for name, numbers in found.items() if len(numbers) > 1}
        for name, numbers in several.items():
            del found[name]
            for number in numbers:
                found.setdefault(_with_sign(name, statements[number]), []).append(number)
        return {name: numbers[0] for name, numbers in found.items() if len(numbers) == 1}

    def _step_of(self, line: ast.stmt) -> str | None:
        """Return the name of the step that a line replaces, or None."""
        names = [n for name in _names(line) for n in (name, _with_sign(name, line))]
        return next((name for name in names if name in self._steps), None)

    def _parse(self, source: str, what: str) -> ast.Module:
        try:
            return ast.parse(source)
        except SyntaxError as error:
            line = (error.text or "").strip()
            raise RecipeError(
                f"{self.name}: {what} is not Python: {error.msg} in {line!r}"
            ) from error

    def _parsed(self, version: str) -> _Edits | None:
        """Return the edits of a version, or None if it redefines the whole function."""
        if version not in self._edits:
            self._edits[version] = self._read(version)
        return self._edits[version]

    def _read(self, version: str) -> _Edits | None:
        body = self._parse(version, f"the wrong line {version!r}").body
        if any(isinstance(one, ast.FunctionDef) and one.name == self.name for one in body):
            return None
        edits: _Edits = {}
        waiting: list[ast.stmt] = []
        for line in body:
            waiting.append(line)
            name = self._step_of(line)
            if name is not None:
                edits[name] = (*edits.get(name, ()), *waiting)
                waiting = []
        if waiting or not edits:
            raise RecipeError(self._misfit(waiting))
        return edits

    def _misfit(self, lines: Sequence[ast.stmt]) -> str:
        text = "; ".join(ast.unparse(line) for line in lines) or "nothing"
        right = [statement for _, statement in _walk(ast.parse(self._source).body)]
        wrong, known = ({name for one in part for name in _names(one)} for part in (lines, right))
        twice = wrong & known
        if twice:
            why = f"its right answer sets {', '.join(sorted(twice))} more than once"
        else:
            steps = (repr(name) if " " in name else name for name in self._steps)
            why = f"the steps are {', '.join(steps)}"
        return f"{self.name}: the wrong line {text!r} replaces no step; {why}"


def _walk(block: list[ast.stmt]) -> Iterator[tuple[list[ast.stmt], ast.stmt]]:
    """Yield every statement with the block that holds it."""
    for statement in block:
        yield block, statement
        for inner in ("body", "orelse", "finalbody"):
            yield from _walk(getattr(statement, inner, []))
        for handler in getattr(statement, "handlers", []):
            yield from _walk(handler.body)


def _names(statement: ast.stmt) -> tuple[str, ...]:
    """Return the names of the step that a statement is; none where it is not one."""
    if isinstance(statement, ast.Return):
        return ("return",)
    if isinstance(statement, ast.Assign):
        return tuple(ast.unparse(target).strip("()") for target in statement.targets)
    if isinstance(statement, ast.AugAssign | ast.AnnAssign):
        return (ast.unparse(statement.target),)
    return ()


def _with_sign(name: str, statement: ast.stmt) -> str:
    return f"{name} {'+=' if isinstance(statement, ast.AugAssign) else '='}"


def _globals(code: CodeType) -> Iterator[str]:
    for step in dis.get_instructions(code):
        if step.opname == "LOAD_GLOBAL":
            yield str(step.argval)
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _globals(inner)
