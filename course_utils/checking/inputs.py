"""Inputs for cases: seeded, float64 by default, and never square by accident."""

import inspect
import re
import typing
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
from torch import Tensor

Make = Callable[[torch.Generator], tuple[Any, ...]]
_DRAWING = {"batch": (), "dtype": torch.float64, "size": 1.0, "strided": False}


def given(*numbers: Any) -> Make:
    """Make a case from these numbers, without a generator."""
    return lambda generator: numbers


def drawn(reference: Callable[..., Any], name: str, wanted: Mapping[str, Any]) -> Make:
    """Make arguments with the shapes in a function's annotations.

    Args:
        reference: The function.
        name: What the case is called, for errors.
        wanted: For each size in the annotations its number (`L=2`); for each parameter that is to
            have a certain value, that value, or a function that makes it from the generator
            (`scale=0.3`); `batch`, the leading axes; `dtype`, of all floating-point tensors, as
            torch has it or as its name; `size`, their standard deviation; `strided`, whether they
            are non-contiguous. A parameter with a default that is not given here is left out.
    """
    options = {key: wanted.get(key, default) for key, default in _DRAWING.items()}
    if isinstance(options["dtype"], str):
        options["dtype"] = getattr(torch, options["dtype"])

    def make(generator: torch.Generator) -> tuple[Any, ...]:
        parameters = inspect.signature(reference, eval_str=True).parameters
        made: list[Any] = []
        last = 0
        for at, (called, parameter) in enumerate(parameters.items()):
            if called in wanted:
                value = wanted[called]
                made.append(value(generator) if callable(value) else value)
            elif parameter.default is not parameter.empty:
                made.append(parameter.default)
                continue
            else:
                made.append(_tensor(called, parameter.annotation, generator))
            last = at + 1
        return tuple(made[:last])

    def _tensor(called: str, annotation: Any, generator: torch.Generator) -> Tensor:
        parts = (annotation, *typing.get_args(annotation))
        kind = next((part for part in parts if hasattr(part, "dim_str")), None)
        if kind is None:
            raise ValueError(f"the case {name!r} must say what {called} is")
        taken = kind.dtypes if isinstance(kind.dtypes, list | tuple) else ("float64",)  # any
        boolean = "bool" in taken
        if not boolean and "float64" not in taken:
            raise ValueError(f"the case {name!r} must say what {called} is")
        shape = tuple(_axes(kind.dim_str))
        if boolean:
            return visible(generator, *shape)
        tensor = normal(generator, *shape, dtype=options["dtype"], size=options["size"])
        return strided(tensor) if options["strided"] and tensor.dim() > 1 else tensor

    def _axes(shape: str) -> Iterator[int]:
        for part in shape.split():
            part = part.lstrip("#")
            if part.startswith("*") or part == "...":
                yield from options["batch"]
                continue
            try:
                yield int(eval(part, {}, dict(wanted)))
            except NameError as error:
                missing = re.findall(r"'(\w+)'", str(error))[0]
                raise ValueError(f"the case {name!r} must say the size {missing}") from error

    return make


def normal(
    generator: torch.Generator, *shape: int, dtype: torch.dtype = torch.float64, size: float = 1.0
) -> Tensor:
    """Draw normal numbers with the given standard deviation."""
    return (size * torch.randn(shape, generator=generator, dtype=torch.float64)).to(dtype)


def strided(tensor: Tensor) -> Tensor:
    """Return the same values in memory that is not contiguous."""
    return tensor.mT.contiguous().mT


def visible(generator: torch.Generator, *shape: int) -> Tensor:
    """Draw a boolean mask; each row sees at least one key and not all of them."""
    mask = torch.rand(shape, generator=generator) < 0.5
    first = torch.randint(shape[-1], shape[:-1], generator=generator).unsqueeze(-1)
    return mask.scatter(-1, first, True).scatter(-1, (first + 1) % shape[-1], False)


def unseeing(make: Make, *rows: tuple[int, ...]) -> Make:
    """Make the same inputs, with every key hidden in these rows of the mask, the last argument."""

    def made(generator: torch.Generator) -> tuple[Any, ...]:
        *others, mask = make(generator)
        for row in rows:
            mask[row] = False
        return (*others, mask)

    return made
