"""The small mistakes that can be made at one place of a function: what may take its place."""

import ast
import copy
from collections.abc import Iterator
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
    match node:
        case ast.Call():
            yield from _of_call(node)
        case ast.expr():
            yield from _of_expression(node)
        case ast.stmt():
            yield from _of_statement(node)
    if isinstance(node, ast.Name) and node.id in parameters:
        for other in parameters:
            yield "another argument", ast.Name(other, ast.Load())


def _of_expression(node: ast.expr) -> Iterator[Change]:
    match node:
        case ast.BinOp(left, op, right):
            if type(op) in _OPERATORS:
                yield "operator", _with(node, op=_OPERATORS[type(op)]())
            yield "dropped term", left
            yield "dropped term", right
            if not isinstance(op, ast.Add | ast.Mult | ast.BitAnd | ast.BitOr):
                yield "swapped operands", _with(node, left=right, right=left)
        case ast.UnaryOp():
            yield "sign", node.operand
        case ast.Compare():
            for swapped in _COMPARISONS.get(type(node.ops[0]), ()):
                yield "comparison", _with(node, ops=[swapped(), *node.ops[1:]])
        case ast.Constant(bool() as flag):
            yield "flag", ast.Constant(not flag)
        case ast.Constant(int() as number):
            yield "off by one", ast.Constant(number + 1)
            yield "off by one", ast.Constant(number - 1)
        case ast.Constant(float() as number):
            yield "number", ast.Constant(number + 1.0)
        case ast.IfExp():
            yield "one branch only", node.body
            yield "one branch only", node.orelse
        case ast.BoolOp():
            other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
            yield "operator", _with(node, op=other)
            for value in node.values:
                yield "dropped term", value
        case ast.Subscript():
            yield "dropped index", node.value
        case ast.Tuple():
            for at in range(len(node.elts) - 1):
                yield "swapped parts", _with(node, elts=_swapped(node.elts, at))
        case ast.Attribute():
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


def _of_statement(node: ast.stmt) -> Iterator[Change]:
    match node:
        case ast.AugAssign():
            if type(node.op) in _OPERATORS:
                yield "operator", _with(node, op=_OPERATORS[type(node.op)]())
            yield "dropped line", ast.Pass()
        case ast.Expr(ast.Call()):
            yield "dropped line", ast.Pass()
        case ast.If():
            yield "always", _with(node, test=ast.Constant(True))
            yield "never", _with(node, test=ast.Constant(False))


def _is_module(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in {"torch", "math", "F", "tl"}


def _swapped(parts: list[Any], at: int) -> list[Any]:
    return [*parts[:at], parts[at + 1], parts[at], *parts[at + 2 :]]


def _with(node: Any, **fields: Any) -> Any:
    made = copy.copy(node)
    for name, value in fields.items():
        setattr(made, name, value)
    return made
