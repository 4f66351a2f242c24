"""The small mistakes that can be made at one place of a function: what may stand there instead."""

import ast
import copy
from collections.abc import Callable, Iterator
from typing import Any

Change = tuple[str, ast.AST]  # what kind of mistake, and the node that takes the place
_OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
_COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.Gt),
    ast.LtE: (ast.Lt, ast.GtE),
    ast.Gt: (ast.GtE, ast.Lt),
    ast.GtE: (ast.Gt, ast.LtE),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
}
_NAMESAKES = {
    "amax": "amin",
    "max": "min",
    "maximum": "minimum",
    "sum": "mean",
    "mean": "sum",
    "sin": "cos",
    "cos": "sin",
    "exp": "expm1",
    "exp2": "exp",
    "log": "log2",
    "tril": "triu",
    "triu": "tril",
    "floor": "ceil",
    "ceil": "floor",
    "argmax": "argmin",
    "any": "all",
    "all": "any",
    "sqrt": "square",
    "zeros": "ones",
    "new_zeros": "new_ones",
    "new_ones": "new_zeros",
}
_SYMMETRIC = {"transpose", "maximum", "minimum", "max", "min", "promote_types", "gcd"}


def changes(node: ast.AST, parameters: list[str]) -> Iterator[Change]:
    """Yield what may take the place of a node in a function with these parameters."""
    for kind, of in _CHANGES.items():
        if isinstance(node, kind):
            yield from of(node)
    if isinstance(node, ast.Name) and node.id in parameters:
        for other in parameters:
            yield "another argument", ast.Name(other, ast.Load())


def _of_operation(node: ast.BinOp) -> Iterator[Change]:
    swapped = _OPERATORS.get(type(node.op))
    if swapped is not None:
        yield "operator", _with(node, op=swapped())
    yield "dropped term", node.left
    yield "dropped term", node.right
    if not isinstance(node.op, ast.Add | ast.Mult | ast.BitAnd | ast.BitOr):
        yield "swapped operands", _with(node, left=node.right, right=node.left)


def _of_sign(node: ast.UnaryOp) -> Iterator[Change]:
    yield "sign", node.operand


def _of_comparison(node: ast.Compare) -> Iterator[Change]:
    for swapped in _COMPARISONS.get(type(node.ops[0]), ()):
        yield "comparison", _with(node, ops=[swapped(), *node.ops[1:]])


def _of_constant(node: ast.Constant) -> Iterator[Change]:
    if isinstance(node.value, bool):
        yield "flag", ast.Constant(not node.value)
    elif isinstance(node.value, int):
        yield "off by one", ast.Constant(node.value + 1)
        yield "off by one", ast.Constant(node.value - 1)
    elif isinstance(node.value, float):
        yield "number", ast.Constant(node.value + 1.0)


def _of_choice(node: ast.IfExp) -> Iterator[Change]:
    yield "one branch only", node.body
    yield "one branch only", node.orelse


def _of_logic(node: ast.BoolOp) -> Iterator[Change]:
    other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
    yield "operator", _with(node, op=other)
    for value in node.values:
        yield "dropped term", value


def _of_subscript(node: ast.Subscript) -> Iterator[Change]:
    yield "dropped index", node.value


def _of_tuple(node: ast.Tuple) -> Iterator[Change]:
    for at in range(len(node.elts) - 1):
        yield "swapped parts", _with(node, elts=_swapped(node.elts, at))


def _of_attribute(node: ast.Attribute) -> Iterator[Change]:
    if node.attr == "mT":
        yield "dropped call", node.value
    if node.attr in _NAMESAKES:
        yield "another function", _with(node, attr=_NAMESAKES[node.attr])


def _of_call(node: ast.Call) -> Iterator[Change]:
    if isinstance(node.func, ast.Attribute) and not _is_module(node.func.value):
        yield "dropped call", node.func.value
    elif len(node.args) == 1 and not node.keywords and ast.unparse(node.func) != "bool":
        yield "dropped call", node.args[0]
    symmetric = ast.unparse(node.func).rpartition(".")[2] in _SYMMETRIC
    for at in range(0 if symmetric else len(node.args) - 1):
        yield "swapped arguments", _with(node, args=_swapped(node.args, at))
    for at, keyword in enumerate(node.keywords):
        if keyword.arg == "device":
            continue
        yield "dropped keyword", _with(node, keywords=node.keywords[:at] + node.keywords[at + 1 :])
        if keyword.arg == "dim" and ast.unparse(keyword.value) == "-1":
            other = ast.keyword("dim", ast.Constant(-2))
            keywords = [*node.keywords[:at], other, *node.keywords[at + 1 :]]
            yield "axis", _with(node, keywords=keywords)


def _of_growing(node: ast.AugAssign) -> Iterator[Change]:
    swapped = _OPERATORS.get(type(node.op))
    if swapped is not None:
        yield "operator", _with(node, op=swapped())
    yield "dropped line", ast.Pass()


def _of_statement(node: ast.Expr) -> Iterator[Change]:
    if isinstance(node.value, ast.Call):
        yield "dropped line", ast.Pass()


def _of_condition(node: ast.If) -> Iterator[Change]:
    yield "always", _with(node, test=ast.Constant(True))
    yield "never", _with(node, test=ast.Constant(False))


_CHANGES: dict[type[ast.AST], Callable[[Any], Iterator[Change]]] = {
    ast.BinOp: _of_operation,
    ast.UnaryOp: _of_sign,
    ast.Compare: _of_comparison,
    ast.Constant: _of_constant,
    ast.IfExp: _of_choice,
    ast.BoolOp: _of_logic,
    ast.Subscript: _of_subscript,
    ast.Tuple: _of_tuple,
    ast.Attribute: _of_attribute,
    ast.Call: _of_call,
    ast.AugAssign: _of_growing,
    ast.Expr: _of_statement,
    ast.If: _of_condition,
}


def _is_module(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in {"torch", "math", "F", "tl"}


def _swapped(parts: list[Any], at: int) -> list[Any]:
    return [*parts[:at], parts[at + 1], parts[at], *parts[at + 2 :]]


def _with(node: Any, **fields: Any) -> Any:
    made = copy.copy(node)
    for name, value in fields.items():
        setattr(made, name, value)
    return made
