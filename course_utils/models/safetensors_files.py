"""Reading weights from files in the safetensors format, which is simple enough to read by hand.

Source: https://github.com/huggingface/safetensors, section Format: eight bytes hold the length of a
    JSON header; it says of each tensor its dtype, its shape, and which bytes behind it are its own
Same contract as: safetensors.torch.load_file
"""

import json
import math
import struct
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

INDEX = "model.safetensors.index.json"  # where the weights are spread over several files
KINDS = {
    "F64": torch.float64, "F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16,
    "I64": torch.int64, "I32": torch.int32, "I16": torch.int16, "I8": torch.int8,
    "U8": torch.uint8, "BOOL": torch.bool,
}  # fmt: skip


def read_safetensors(path: str | Path) -> dict[str, Tensor]:
    """Return the tensors of a file by their names.

    Args:
        path: The file.

    Raises:
        FileNotFoundError: There is none.
        ValueError: It is not in this format, or cut off.
    """
    with Path(path).open("rb") as file:
        first = file.read(8)
        length = struct.unpack("<Q", first)[0] if len(first) == 8 else 0
        try:
            header = json.loads(file.read(min(length, 100_000_000)))
        except ValueError as error:
            raise ValueError(f"{path} must begin with a header of safetensors") from error
        if not isinstance(header, dict):
            raise ValueError(f"{path} must begin with a header of safetensors, got {header!r:.60}")
        header.pop("__metadata__", None)
        found = {}
        for name, entry in header.items():
            begin, end = entry["data_offsets"]
            file.seek(8 + length + begin)
            found[name] = _tensor(f"{name} in {path}", entry, file.read(end - begin))
    return found


def read_folder(folder: str | Path) -> dict[str, Tensor]:
    """Return the tensors of a model's folder, from one file or from several with an index.

    Args:
        folder: Holds model.safetensors, or an index that names the files.

    Raises:
        FileNotFoundError: A file is missing.
        ValueError: A file is not in this format.
    """
    folder = Path(folder)
    names = ["model.safetensors"]
    if (folder / INDEX).exists():
        index = json.loads((folder / INDEX).read_text(encoding="utf-8"))
        names = sorted(set(index["weight_map"].values()))
    found: dict[str, Tensor] = {}
    for name in names:
        found |= read_safetensors(folder / name)
    return found


def _tensor(name: str, entry: dict[str, Any], data: bytes) -> Tensor:
    if entry["dtype"] not in KINDS:
        known = ", ".join(KINDS)
        raise ValueError(f"{name} must have one of the dtypes {known}, got {entry['dtype']}")
    kind, shape = KINDS[entry["dtype"]], entry["shape"]
    size = math.prod(shape) * kind.itemsize
    if len(data) != size:
        raise ValueError(f"{name} must be {size} bytes, got {len(data)}")
    if not data:
        return torch.empty(shape, dtype=kind)
    return torch.frombuffer(bytearray(data), dtype=kind).reshape(shape)
