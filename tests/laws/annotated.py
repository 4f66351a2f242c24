"""Arguments drawn from a function's own annotations: shapes, dtypes and the names of sizes."""

import copy
import inspect
import math
import re
import types
import typing
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

Sizes = dict[str, Any]
DTYPES = (torch.float64, torch.float32, torch.bfloat16, torch.float16)
# Numbers that each name has in an annotation or as an argument, unless a function has its own.
NUMBERS = {
    "d_q": 3, "d_a": 4, "d_h": 5, "d_in": 3, "d_p": 2, "d_c": 3, "d_ff": 5, "d_g": 5, "d_rope": 0,
    "d_latent": 2, "d_query": 3, "width": 4, "embedding": 3, "r": 2, "m": 5, "num_features": 5,
    "half": 2, "rounds": 2, "M": 3, "N": 5, "E": 4, "k": 2, "n": 3, "Q": 4, "V": 5, "K": 3,
    "K_plus_1": 4, "P": 2, "C": 1, "h": 4, "w": 4, "positions": 9, "num_layers": 2, "window": 2,
    "num_sinks": 1, "num_global": 1, "block": 2, "block_size": 2, "num_blocks": 12, "block_q": 2,
    "block_k": 3, "chunk": 2, "stride": 2, "summary": 1, "reach": 2, "left": 2, "right": 1,
    "count": 2, "top_k": 2, "num_selected": 2, "prefix_length": 1, "num_seen": 9, "period": 2,
    "times": 2, "patch": 2, "max_distance": 2, "two_max_distance": 4, "two_max_distance_plus_1": 5,
    "num_buckets": 8, "offset": 3, "trained_length": 40, "target_length": 80, "max_length": 8,
    "vocab_size": 7, "pad_id": 0, "num_source": 7, "num_target": 7, "num_symbols": 3,
    "num_characters": 5, "start": 1, "end": 2, "gamma": 2, "step": 3, "warmup": 2, "last": 9,
    "image_size": 4, "num_classes": 3, "num_samples": 9, "num_parameters": 9, "num_trainable": 4,
    "num_activations": 3, "bytes_per_element": 2, "sram_elements": 1024, "world_size": 3, "rank": 1,
    "num_draft": 2, "base": 1e4, "factor": 2.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
}  # fmt: skip


@dataclass(frozen=True)
class Entry:
    """A way to call something public.

    Attributes:
        function: A function, a class, or a method, whose `self` is given.
        given: Arguments that its annotations do not tell, or makers of them from sizes and a
            generator.
        sizes: Sizes that are not free.
        dtype: Of what is drawn where nothing else is asked.
    """

    function: Callable[..., Any]
    given: dict[str, Any] = field(default_factory=dict)
    sizes: Sizes = field(default_factory=dict)
    dtype: torch.dtype = torch.float64

    @property
    def name(self) -> str:
        return self.function.__qualname__

    @property
    def parameters(self) -> dict[str, inspect.Parameter]:
        found = inspect.signature(self.function, eval_str=True).parameters
        return {n: p for n, p in found.items() if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)}

    @property
    def names(self) -> list[str]:
        """Every argument that can be wrong, those with a default too."""
        return [name for name in self.parameters | self.given if name != "self"]

    def arguments(
        self, sizes: Sizes, dtype: torch.dtype | None = None, seed: int = 1, leading: int = 1
    ) -> dict[str, Any]:
        """Draw valid arguments; those that have a default are left out unless they are tensors."""
        sizes, g = sizes | self.sizes, torch.Generator().manual_seed(seed)
        made = {
            name: given(sizes, g) if callable(given) else copy.deepcopy(given)
            for name, given in self.given.items()
        }
        for name, parameter in self.parameters.items():
            if name not in made and is_asked(parameter):
                annotation, dtype = parameter.annotation, dtype or self.dtype
                made[name] = _drawn(name, annotation, sizes, dtype, g, leading)
        return made

    def leads(self, name: str) -> bool:
        """Return whether an argument has the leading axis."""
        array = array_of(self.parameters[name].annotation)
        axes = array.dim_str.split() if array else []
        return axes[:1] in (["*batch"], ["B"], ["batch"], ["#B"], ["#*batch"])

    def results(self) -> list[Any]:
        """Return the annotation of each result."""
        made = inspect.signature(self.function, eval_str=True).return_annotation
        return list(typing.get_args(made)) if typing.get_origin(made) is tuple else [made]


def sizes(b: int, h_kv: int, group: int, queries: int, keys: int, half: int, d_v: int) -> Sizes:
    """Return a number for each name, from those that are free."""
    heads, d_k = h_kv * group, 2 * half
    wide = heads * d_k
    axes = {"B": b, "batch": b, "H_kv": h_kv, "H": heads, "L": queries, "S": keys, "T": queries}
    axes |= {"S_max": queries + keys, "_": keys, "d_k": d_k, "d": d_k, "d_v": d_v, "d_model": wide}
    axes |= {"d_key": wide, "d_value": wide, "three_d_model": 3 * wide, "d_q_plus_d_k": 3 + d_k}
    counts = {"num_heads": heads, "num_kv_heads": h_kv, "num_queries": queries, "num_keys": keys}
    counts |= dict.fromkeys(("num_tokens", "num_positions", "length"), queries)
    return NUMBERS | axes | counts | {"half_width": half}


def is_asked(parameter: inspect.Parameter) -> bool:
    """Return whether an argument is drawn: it has no default, or it is a tensor."""
    return (
        parameter.default is inspect.Parameter.empty or array_of(parameter.annotation) is not None
    )


def tells_all(annotation: Any) -> bool:
    """Return whether any value will do: it is a number, or a tensor of floats."""
    if any(kind in (bool, int, float) for kind in kinds_of(annotation)):
        return True
    array = array_of(annotation)
    return array is not None and "float32" in _dtypes(array)


def kinds_of(annotation: Any) -> tuple[Any, ...]:
    """Return an annotation, or the members of a union."""
    is_union = typing.get_origin(annotation) in (typing.Union, types.UnionType)
    return typing.get_args(annotation) if is_union else (annotation,)


def array_of(annotation: Any) -> Any:
    """Return what is said of a tensor; None where it is not one."""
    return next((kind for kind in kinds_of(annotation) if hasattr(kind, "dim_str")), None)


def _dtypes(array: Any) -> Collection[str]:
    return array.dtypes if isinstance(array.dtypes, Collection) else ()  # `Shaped` takes any


def _drawn(
    name: str, annotation: Any, sizes: Sizes, dtype: torch.dtype, g: torch.Generator, leading: int
) -> Any:
    kinds, array = kinds_of(annotation), array_of(annotation)
    parts = typing.get_args(annotation)
    if annotation is bool:
        return False
    if annotation is torch.dtype:
        return torch.float32
    if annotation == Sequence[float]:
        return [1.0, 2.0, 4.0]
    if typing.get_origin(annotation) is typing.Literal:
        return parts[-1]
    if typing.get_origin(annotation) is Callable and len(parts[0]) == 1:
        return _unchanged  # a layer, a norm, an attention: of a stream, it makes another
    if annotation is torch.Generator:
        return g
    if int in kinds and name in sizes:
        return sizes[name]
    if float in kinds:
        return sizes.get(name, 0.7)
    if array is not None:
        shape = list(expected(array.dim_str, sizes, leading))
        return _tensor(shape, _dtypes(array), dtype, g)
    raise LookupError(f"{name}: give it a number in NUMBERS, or a value in entries.py")


def _unchanged(x: Tensor) -> Tensor:
    return x


def _tensor(
    shape: list[int], kinds: Collection[str], dtype: torch.dtype, g: torch.Generator
) -> Tensor:
    if "float32" in kinds:
        return torch.randn(shape, generator=g, dtype=torch.float64).to(dtype)
    if "bool" in kinds:
        return torch.rand(shape, generator=g) < 0.6
    if "int64" in kinds:
        return torch.randint(0, 3, shape, generator=g)
    return torch.arange(math.prod(shape)).reshape(shape)  # any dtype: only positions have it


def expected(shape: str, sizes: Sizes, leading: int) -> Iterator[int]:
    """Yield the axes that a shape stands for."""
    for part in shape.split():
        part = part.removeprefix("#").replace("{", "").replace("}", "")  # an argument's value
        if part in ("*batch", "..."):
            yield from (sizes["B"], 2, 3)[:leading]
        elif not part.startswith("*"):  # of other axes there may be none
            yield int(eval(part, {}, dict(sizes))) if re.search(r"\D", part) else int(part)
