"""Turn arguments and results into bytes and back, so that reading them cannot run any code.

Pickle would let the writer of the bytes run anything in the reader's process, and one side is
a stranger's function. The form is JSON for what is small, followed by the memory of the tensors.
"""

import base64
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

LIMIT = 2**30  # bytes of one message
_DTYPES = {
    str(dtype): dtype
    for dtype in (
        *(torch.float64, torch.float32, torch.float16, torch.bfloat16),
        *(torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool),
        *(torch.complex64, torch.complex128),
    )
}
_PLAIN = (bool, int, float, str, type(None))


@dataclass(frozen=True)
class Foreign:
    """Represents a value of a kind that is not transmitted; `kind` names it."""

    kind: str


@dataclass(frozen=True)
class Handle:
    """Represents a function, or another value, that stayed on the other side."""

    number: int


class _Writer:
    """Collects a message: a tree of plain values, and the memory of each tensor once."""

    def __init__(self, keep: Callable[[Any], int] | None = None) -> None:
        self.keep = keep
        self.blobs: list[bytes] = []
        self.places: dict[int, int] = {}

    def tree(self, value: Any) -> Any:
        """Return a value as JSON can represent it."""
        if type(value) in _PLAIN:
            return repr(value) if isinstance(value, float) else {"is": value}
        if isinstance(value, list | tuple):
            kind = "list" if isinstance(value, list) else "tuple"
            return {kind: [self.tree(part) for part in value]}
        if isinstance(value, dict) and all(isinstance(key, str) for key in value):
            return {"dict": {key: self.tree(part) for key, part in value.items()}}
        if isinstance(value, Tensor) and _is_ordinary(value):
            return {"tensor": self._tensor(value)}
        if isinstance(value, torch.Generator):
            state = value.get_state().numpy().tobytes()
            return {"generator": base64.b64encode(state).decode()}
        if isinstance(value, Handle):
            return {"handle": value.number}
        if self.keep is not None:
            return {"function" if callable(value) else "handle": self.keep(value)}
        return {"foreign": f"{type(value).__module__}.{type(value).__qualname__}"}

    def _tensor(self, tensor: Tensor) -> list[Any]:
        storage = tensor.untyped_storage()
        place = self.places.get(storage.data_ptr()) if len(storage) else None
        if place is None:
            place = len(self.blobs)
            memory = torch.empty(0, dtype=torch.uint8).set_(storage)
            self.blobs.append(memory.numpy().tobytes())
            self.places[storage.data_ptr()] = place
        layout = (tuple(tensor.shape), tensor.stride(), tensor.storage_offset())
        return [str(tensor.dtype), *layout, place, tensor.requires_grad]


def encode(value: Any, keep: Callable[[Any], int] | None = None) -> bytes:
    """Return the bytes of a value: numbers, text, tensors, generators, lists, tuples and dicts.

    Args:
        value: What to write.
        keep: Keeps what cannot be sent and numbers it: it becomes a `Handle` at the other end, or
            the function that `decode` makes of it. Without `keep` it becomes a `Foreign`.

    Raises:
        ValueError: The message would be too long.
    """
    writer = _Writer(keep)
    tree = writer.tree(value)
    head = json.dumps({"value": tree, "sizes": list(map(len, writer.blobs))}).encode()
    parts = [len(head).to_bytes(8, "big"), head, *writer.blobs]
    if sum(map(len, parts)) > LIMIT:
        raise ValueError(f"a message must have at most {LIMIT} bytes, got more")
    return b"".join(parts)


def decode(
    message: bytes, stub: Callable[[int], Any] = Handle, kept: Callable[[int], Any] = Handle
) -> Any:
    """Return the value that `encode` wrote; the bytes may come from anybody.

    Args:
        message: The bytes.
        stub: Makes the proxy of a function on the other side.
        kept: Makes the proxy of another value, or finds one that returns home.

    Raises:
        ValueError: The bytes are not such a message.
    """
    try:
        size = int.from_bytes(message[:8], "big")
        head = json.loads(message[8 : 8 + size])
        blobs, at = [], 8 + size
        for length in head["sizes"]:
            blobs.append(bytearray(message[at : at + length]))
            at += length
        storages = [torch.frombuffer(b, dtype=torch.uint8) if b else _nothing() for b in blobs]
        return _value(head["value"], storages, (stub, kept))
    except (LookupError, TypeError, AttributeError, RuntimeError, ValueError) as error:
        raise ValueError(f"a message must be one that `encode` wrote, got {error}") from None


def _value(tree: Any, storages: list[Tensor], made: tuple[Callable[[int], Any], ...]) -> Any:
    if isinstance(tree, str):
        return float(tree)
    ((kind, inside),) = tree.items()
    if kind == "is":
        return inside
    if kind in ("list", "tuple"):
        parts = [_value(part, storages, made) for part in inside]
        return parts if kind == "list" else tuple(parts)
    if kind == "dict":
        return {key: _value(part, storages, made) for key, part in inside.items()}
    if kind == "tensor":
        return _tensor(inside, storages)
    if kind == "generator":
        state = bytearray(base64.b64decode(inside))
        generator = torch.Generator()
        generator.set_state(torch.frombuffer(state, dtype=torch.uint8))
        return generator
    if kind in ("function", "handle"):
        return made[kind == "handle"](int(inside))
    return Foreign(str(inside))


def _tensor(inside: list[Any], storages: list[Tensor]) -> Tensor:
    name, shape, stride, offset, place, requires_grad = inside
    dtype = _DTYPES[name]
    memory = storages[place]
    whole = memory[: memory.numel() // dtype.itemsize * dtype.itemsize].view(dtype)
    tensor: Tensor = whole.as_strided(tuple(shape), tuple(stride), offset)
    return tensor.requires_grad_() if requires_grad else tensor


def _nothing() -> Tensor:
    return torch.empty(0, dtype=torch.uint8)


def _is_ordinary(tensor: Tensor) -> bool:
    """Return whether it is a plain dense CPU tensor."""
    plain = type(tensor) is Tensor or type(tensor) is torch.nn.Parameter
    plain = plain and tensor.layout == torch.strided and tensor.device.type == "cpu"
    plain = plain and not (tensor.is_nested or tensor.is_quantized or tensor.is_neg())
    return plain and not tensor.is_conj() and str(tensor.dtype) in _DTYPES
