"""A file of weights, read down to its bytes: fields, then a table of tensors, then their blocks.

Source: the GGUF specification, docs/gguf.md of https://github.com/ggml-org/ggml
Ours / theirs: fields, tensors = metadata key-value pairs, tensor infos;  shape = dimensions, from
    the slowest to the fastest
Differs: three kinds of tensors only (F32, Q8_0, Q4_1), little-endian files of version 2 and 3;
    any other is refused by its name
Same contract as: gguf.GGUFReader, field by field and tensor by tensor
"""

import mmap
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float, UInt8
from torch import Tensor

from course_utils.models.released.gguf.blocks import (
    BLOCK,
    Q4_1_BYTES,
    Q8_0_BYTES,
    dequantize_q4_1,
    dequantize_q8_0,
)

MAGIC, VERSIONS = b"GGUF", (2, 3)
STRING, ARRAY = 8, 9
NUMBERS = {
    0: "B",
    1: "b",
    2: "H",
    3: "h",
    4: "I",
    5: "i",
    6: "f",
    7: "?",
    10: "Q",
    11: "q",
    12: "d",
}
KINDS = (
    *("F32", "F16", "Q4_0", "Q4_1", "Q4_2", "Q4_3", "Q5_0", "Q5_1", "Q8_0", "Q8_1"),
    *("Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K", "Q8_K"),
)
"""The names of the kinds of tensors, by their numbers."""


@dataclass(frozen=True)
class Kind:
    """The layout of a kind of tensor: bytes of a block, its numbers, and what reads it."""

    num_bytes: int
    numbers: int
    read: Callable[[Tensor], Tensor]


READABLE = {
    # A copy: a view would keep the file mapped.
    "F32": Kind(4, 1, lambda data: data.clone().view(torch.float32)),
    "Q4_1": Kind(Q4_1_BYTES, BLOCK, dequantize_q4_1),
    "Q8_0": Kind(Q8_0_BYTES, BLOCK, dequantize_q8_0),
}


@dataclass(frozen=True)
class FileTensor:
    """A tensor as the file holds it.

    Attributes:
        kind: "F32", "Q8_0" or "Q4_1".
        shape: As torch counts axes: rows first.
        data: Its bytes, mapped from the file: (blocks, bytes of a block).
    """

    kind: str
    shape: tuple[int, ...]
    data: UInt8[Tensor, "blocks bytes"]

    @property
    def num_bytes(self) -> int:
        """The bytes that it takes in the file."""
        return self.data.numel()

    def weights(self) -> Float[Tensor, "..."]:
        """Return its numbers in float32."""
        return READABLE[self.kind].read(self.data).reshape(self.shape)


@dataclass(frozen=True)
class GGUFFile:
    """A file's fields by name, and its tensors by name, in the file's order."""

    fields: dict[str, Any]
    tensors: dict[str, FileTensor]


def read_gguf(path: str | Path) -> GGUFFile:
    """Read a file's fields and map its tensors.

    Args:
        path: Where the file lies.

    Raises:
        FileNotFoundError: There is no such file.
        ValueError: It is another kind of file, it is cut off, or a tensor is of a kind that is not
            read here; the message names the tensor and its kind.
    """
    path = Path(path)
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        try:
            reader = _Reader(mapped)
            fields, infos = reader.fields(), []
            infos = [reader.tensor_info() for _ in range(reader.num_tensors)]
            start = _aligned(reader.at, fields.get("general.alignment", 32))
        except struct.error:
            raise ValueError(f"{path.name} must be a whole GGUF file: it is cut off") from None
    size = path.stat().st_size
    data = torch.from_file(str(path), shared=False, size=size, dtype=torch.uint8)
    return GGUFFile(fields, dict(_tensors(infos, data[start:], path.name)))


@dataclass(frozen=True)
class _Info:
    name: str
    shape: tuple[int, ...]
    kind: str
    offset: int


class _Reader:
    """Reads one value after another from the head of the file."""

    def __init__(self, mapped: mmap.mmap) -> None:
        self.mapped, self.at = mapped, 4
        if mapped[:4] != MAGIC:
            raise ValueError(f"the file must begin with {MAGIC!r}, got {mapped[:4]!r}")
        version = self.one("I")
        if version not in VERSIONS:
            raise ValueError(f"the version of GGUF must be 2 or 3, got {version}")
        self.num_tensors, self.num_fields = self.one("Q"), self.one("Q")

    def one(self, code: str) -> Any:
        (value,) = struct.unpack_from(f"<{code}", self.mapped, self.at)
        self.at += struct.calcsize(f"<{code}")
        return value

    def text(self) -> str:
        length = self.one("Q")
        found = self.mapped[self.at : self.at + length]
        if len(found) < length:
            raise struct.error
        self.at += length
        return found.decode()

    def value(self, kind: int) -> Any:
        if kind == STRING:
            return self.text()
        if kind == ARRAY:
            kind, length = self.one("I"), self.one("Q")
            if kind in NUMBERS:
                found = struct.unpack_from(f"<{length}{NUMBERS[kind]}", self.mapped, self.at)
                self.at += struct.calcsize(f"<{length}{NUMBERS[kind]}")
                return list(found)
            return [self.value(kind) for _ in range(length)]
        if kind not in NUMBERS:
            raise ValueError(f"the type of a field must be one of GGUF's 13, got {kind}")
        return self.one(NUMBERS[kind])

    def fields(self) -> dict[str, Any]:
        return {self.text(): self.value(self.one("I")) for _ in range(self.num_fields)}

    def tensor_info(self) -> _Info:
        name, axes = self.text(), self.one("I")
        shape = tuple(self.one("Q") for _ in range(axes))[::-1]
        number = self.one("I")
        kind = KINDS[number] if number < len(KINDS) else f"number {number}"
        return _Info(name, shape, kind, self.one("Q"))


def _aligned(at: int, alignment: int) -> int:
    return -(-at // alignment) * alignment


def _tensors(infos: list[_Info], data: Tensor, file: str) -> Iterator[tuple[str, FileTensor]]:
    for info in infos:
        if info.kind not in READABLE:
            known = ", ".join(READABLE)
            raise ValueError(f"{info.name} must be of kind {known}, got {info.kind}")
        kind = READABLE[info.kind]
        length = prod(info.shape) // kind.numbers * kind.num_bytes
        found = data[info.offset : info.offset + length]
        if len(found) < length:
            raise ValueError(f"{file} must be a whole GGUF file: it is cut off in {info.name}")
        yield info.name, FileTensor(info.kind, info.shape, found.view(-1, kind.num_bytes))
