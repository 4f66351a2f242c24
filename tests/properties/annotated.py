"""Arguments drawn from a function's own annotations: shapes, dtypes and the names of sizes."""

import inspect
import re
import typing
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

Sizes = dict[str, int]
Value = Callable[[Sizes, torch.Generator], Any]
DTYPES = (torch.float64, torch.float32, torch.bfloat16, torch.float16)
_NAMES = {  # what a whole number is called, and what the same size is called in shapes
    "num_heads": "H",
    "num_kv_heads": "H_kv",
    "num_queries": "L",
    "num_positions": "L",
    "num_keys": "S",
    "num_tokens": "L",
}


@dataclass(frozen=True)
class Entry:
    """How to call a public function.

    Attributes:
        function: The function.
        given: Arguments that its annotations do not tell, made from the sizes and a generator.
        sizes: Sizes that are not free.
        smooth: Whether a rounded input gives a rounded output.
        writes: The arguments that it is there to change.
        apart: Whether each member of the leading axis has a result of its own.
    """

    function: Callable[..., Any]
    given: dict[str, Any] = field(default_factory=dict)
    sizes: Sizes = field(default_factory=dict)
    smooth: bool = True
    writes: tuple[str, ...] = ()
    apart: bool = True

    @property
    def name(self) -> str:
        return self.function.__name__

    @property
    def signature(self) -> inspect.Signature:
        return inspect.signature(self.function, eval_str=True)

    def arguments(
        self, sizes: Sizes, dtype: torch.dtype, seed: int, leading: int = 1
    ) -> dict[str, Any]:
        """Draw valid arguments; those that have a default are left out unless they are given."""
        sizes, g = sizes | self.sizes, torch.Generator().manual_seed(seed)
        made = {}
        for name, parameter in self.signature.parameters.items():
            if name in self.given:
                given = self.given[name]
                made[name] = given(sizes, g) if callable(given) else given
            elif parameter.default is inspect.Parameter.empty or _shape(parameter.annotation):
                made[name] = _drawn(name, parameter.annotation, sizes, dtype, g, leading)
        return made

    def leads(self, name: str) -> bool:
        """Return whether an argument has the leading axis."""
        shape = _shape(self.signature.parameters[name].annotation)
        return bool(shape) and shape.split()[0].removeprefix("#") in ("*batch", "B", "batch")

    def results(self) -> list[Any]:
        """Return the annotation of each result."""
        made = self.signature.return_annotation
        return list(typing.get_args(made)) if typing.get_origin(made) is tuple else [made]


def sizes(b: int, h_kv: int, group: int, queries: int, keys: int, half: int, d_v: int) -> Sizes:
    """Return a size for each name that the annotations use, from those that are free."""
    heads, d_k = h_kv * group, 2 * half
    free = {"B": b, "batch": b, "H_kv": h_kv, "H": heads, "L": queries, "S": keys}
    widths = {"d_k": d_k, "d": d_k, "d_v": d_v, "d_q": 3, "d_a": 4, "d_h": 5, "d_in": 3, "d_p": 2}
    made = {"d_model": heads * d_k, "d_c": 3, "r": 2, "m": 5, "half": 2, "rounds": 2, "d_rope": 0}
    joined = {"d_q_plus_d_k": 3 + d_k, "three_d_model": 3 * heads * d_k}
    others = {
        "T": queries,
        "S_max": queries + keys,
        "half_width": half,
        "num_samples": 9,
        "num_positions": queries,
    }
    return free | widths | made | joined | others


def _shape(annotation: Any) -> str:
    for part in (annotation, *typing.get_args(annotation)):
        if hasattr(part, "dim_str"):
            return str(part.dim_str)
    return ""


def _drawn(
    name: str, annotation: Any, sizes: Sizes, dtype: torch.dtype, g: torch.Generator, leading: int
) -> Any:
    shape = _shape(annotation)
    if shape:
        kinds = next(
            a.dtypes for a in (annotation, *typing.get_args(annotation)) if hasattr(a, "dim_str")
        )
        return _tensor(list(expected(shape, sizes, leading)), kinds, dtype, g)
    if annotation is bool:
        return False
    if annotation is float:
        return 0.7
    if annotation is int:
        return sizes[_NAMES.get(name, name)]
    if annotation is torch.Generator:
        return g
    raise LookupError(f"the table has to say what {name} is")


def _tensor(shape: list[int], kinds: Any, dtype: torch.dtype, g: torch.Generator) -> Tensor:
    if not isinstance(kinds, tuple | list) or "float32" in kinds:  # `Shaped` takes any
        return torch.randn(shape, generator=g, dtype=torch.float64).to(dtype)
    if "bool" in kinds:
        return torch.rand(shape, generator=g) < 0.6
    return torch.randint(0, 3, shape, generator=g)


def expected(shape: str, sizes: Sizes, leading: int) -> Iterator[int]:
    """Yield the axes that a shape stands for."""
    for part in shape.split():
        part = part.removeprefix("#")
        if part in ("*batch", "..."):
            yield from (sizes["B"], 2, 3)[:leading]
        elif not part.startswith("*"):  # of other axes there may be none
            yield int(eval(part, {}, dict(sizes))) if re.search(r"\D", part) else int(part)
