"""Hold the arguments of a call against the annotations that its function has in any case.

The references check by hand, beside what they compute. What is built of them says in annotations
what it takes, and is held to that: models, their training, data and figures. Checkers of
annotations that exist speak of annotations; here a learner reads what must hold, and what came.
"""

import functools
import inspect
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from numbers import Integral, Real
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from course_utils._checked_shapes import check_tensor, is_shaped, sizes_of

F = TypeVar("F", bound=Callable[..., Any])
_SAID = {
    int: "an int",
    float: "a number",
    bool: "a bool",
    str: "a string",
    None: "None",
    types.NoneType: "None",
}


def checked(**least: float) -> Callable[[F], F]:
    """Refuse arguments that do not fit the annotations; in shapes, equal names are equal sizes.

    Args:
        **least: The smallest value of single numbers.

    Raises:
        TypeError: When it is called: an argument is of another kind than its annotation.
        ValueError: When it is called: sizes do not fit together, or a number is too small.
    """

    def decorate(function: F) -> F:
        names = tuple(inspect.signature(function).parameters)
        hints = functools.cache(lambda: _hints(function))

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            # What is missing or too much, Python says itself.
            given = dict(zip(names, args, strict=False)) | kwargs
            known = sizes_of(given.get("self"))
            for name, hint in hints().items():
                if name in given:
                    _check(name, given[name], hint, known)
                    _check_least(name, given[name], least.get(name))
            return function(*args, **kwargs)

        return cast(F, call)

    return decorate


def _hints(function: Callable[..., Any]) -> dict[str, tuple[Any, ...]]:
    """Return for each argument the kinds that it may have."""
    hints = {}
    for name, parameter in inspect.signature(function).parameters.items():
        hint = parameter.annotation
        if parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
            continue
        if isinstance(hint, str):
            hint = eval(hint, getattr(function, "__globals__", {}))
        if hint is not parameter.empty:
            is_union = get_origin(hint) in (Union, types.UnionType)
            hints[name] = get_args(hint) if is_union else (hint,)
    return hints


def _check(name: str, value: Any, kinds: tuple[Any, ...], known: dict[str, Any]) -> None:
    found = next((kind for kind in kinds if _is_of(value, kind)), _check)
    if found is _check:
        wanted = " or ".join(map(_said, kinds))
        is_plain = isinstance(value, Real | Sequence | Mapping | types.NoneType)
        got = f"{value!r:.60}" if is_plain else type(value).__name__
        raise TypeError(f"{name} must be {wanted}, got {got}")
    if is_shaped(found):
        check_tensor(name, value, found, known)
    for part, kind in _fields(found).items():
        check_tensor(f"{name}.{part}", getattr(value, part), kind, known)


@functools.cache
def _fields(kind: Any) -> dict[str, Any]:
    """Return the tensors of a named tuple with their annotations."""
    hints = get_type_hints(kind) if hasattr(kind, "_fields") else {}
    return {name: hint for name, hint in hints.items() if is_shaped(hint)}


def _check_least(name: str, value: Any, least: float | None) -> None:
    if least is not None and value is not None and not value >= least:
        raise ValueError(f"{name} must be at least {least}, got {value}")


def _is_of(value: Any, kind: Any) -> bool:
    """Say whether a value is of an annotation's kind; what cannot be told counts as it."""
    if kind in (Any, object):
        return True
    if kind in (None, types.NoneType):
        return value is None
    if kind in (int, float):
        return isinstance(value, Integral if kind is int else Real) and not isinstance(value, bool)
    if is_shaped(kind):
        return isinstance(value, kind.array_type)
    origin, inner = get_origin(kind) or kind, get_args(kind)
    if getattr(origin, "__module__", "").startswith("numpy"):
        return True  # one of the many kinds that numpy makes an array of: it refuses the others
    if origin is Callable:
        return callable(value)
    if origin is Literal:
        return isinstance(value, tuple({type(one) for one in inner}))
    if origin is Sequence and hasattr(value, "tolist"):  # an array, or a tensor
        value = value.tolist()
    if origin in (Sequence, Iterable) and isinstance(value, str | bytes):
        return False
    if not isinstance(origin, type) or getattr(origin, "_is_protocol", False):
        return not getattr(origin, "_is_runtime_protocol", False) or isinstance(value, origin)
    if not isinstance(value, origin) or _lacks(value, origin, inner):
        return False
    return all(_is_of(*pair) for pair in _inside(value, origin, inner))


def _lacks(value: Any, origin: Any, inner: tuple[Any, ...]) -> bool:
    return origin is tuple and inner != () and Ellipsis not in inner and len(value) != len(inner)


def _inside(value: Any, origin: Any, inner: tuple[Any, ...]) -> Iterator[tuple[Any, Any]]:
    """Yield what a container holds, each with its kind; what can be read only once is not read."""
    if origin is Mapping:
        yield from ((key, inner[0]) for key in value)
        yield from ((held, inner[1]) for held in value.values())
    elif origin is tuple and Ellipsis not in inner:
        yield from zip(value, inner, strict=False)
    elif origin is Sequence and inner:
        yield from ((held, inner[0]) for held in value)


def _said(kind: Any) -> str:
    if kind in _SAID:
        return _SAID[kind]
    if is_shaped(kind):
        return f"a torch.{kind.array_type.__name__}"
    if get_origin(kind) is Callable:
        return "callable"
    if get_origin(kind) is Literal:
        return "one of " + ", ".join(map(repr, get_args(kind)))
    origin, inner = get_origin(kind) or kind, get_args(kind)
    if origin is Sequence and inner:
        return f"a sequence of {_plural(inner[0])}"
    return f"a {origin.__name__.lower() if inner else origin.__name__}"


def _plural(kind: Any) -> str:
    first, *rest = _said(kind).split(" ")[1:]
    return " ".join([f"{first}s", *rest])
