"""Values as text: the line that imports one, or a literal."""

import math
import sys
from typing import Any

import torch

LARGEST = 256  # numbers of a tensor that are written out
PLAIN = (bool, int, float, str, bytes, complex, type(None), type(...))
_NOTHING = object()


class NoTextError(ValueError):
    """Something cannot be written as text; the message says what, as a clause."""


def import_line(name: str, value: Any) -> str | None:
    """Return the line that imports a value under a name, from the shortest path that has it."""
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


def literal(value: Any) -> str:
    """Return a value as Python would read it; `torch` may have to be imported for that.

    Raises:
        NoTextError: It cannot be written as text.
    """
    kind = type(value)
    if kind is float and not math.isfinite(value):
        return f'float("{value}")'
    if kind in PLAIN:
        return repr(value)
    if kind is torch.dtype:
        return str(value)
    if kind is torch.device:
        return f"torch.{value!r}"
    if kind is dict:
        return f"{{{', '.join(f'{literal(key)}: {literal(one)}' for key, one in value.items())}}}"
    if kind in (list, tuple, set):
        inside = "".join(f"{literal(one)}, " for one in value)
        inside = inside if kind is tuple and len(value) == 1 else inside.removesuffix(", ")
        inside = inside.rstrip()
        if kind is set:
            return f"{{{inside}}}" if value else "set()"
        return f"[{inside}]" if kind is list else f"({inside})"
    if kind is torch.Tensor and value.numel() <= LARGEST:
        return f"torch.tensor({literal(value.tolist())}, dtype={value.dtype})"
    raise NoTextError(f"no text can hold that {kind.__name__}")
