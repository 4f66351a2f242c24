"""How to call what is public and no plain function of tensors: modules, caches, training, drawing.

Each call has valid arguments, made afresh; the laws change one of them at a time.
"""

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor


@dataclass(frozen=True)
class Call:
    """A public name and arguments that it takes.

    Attributes:
        function: A function, a class, or a method, whose `self` is among the arguments.
        given: Makes the arguments.
        alias: The public name, where the function stands for another.
        opaque: Arguments that only the object's own methods make, and that have no annotation.
    """

    function: Callable[..., Any]
    given: Callable[[], Mapping[str, Any]]
    alias: str = ""
    opaque: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return self.alias or self.function.__qualname__

    def arguments(self) -> dict[str, Any]:
        torch.manual_seed(0)
        return dict(self.given())

    def names(self) -> Iterator[str]:
        """Yield every argument that can be wrong, those with a default too."""
        parameters = inspect.signature(self.function).parameters.values()
        named = [p.name for p in parameters if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)]
        kept = ("self", *self.opaque)
        yield from (name for name in dict.fromkeys([*named, *self.given()]) if name not in kept)


def generator() -> torch.Generator:
    return torch.Generator().manual_seed(1)


def floats(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.randn(*shape, generator=generator(), dtype=torch.float64).to(dtype)


def tokens(*shape: int, below: int = 5) -> Tensor:
    return torch.randint(below, shape, generator=generator())
