"""A GGUF file of a few kB, written here: two layers, all three kinds of tensors."""

import struct
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from course_utils.data.byte_level import BYTE_CHARACTERS

D_MODEL, NUM_HEADS, NUM_KV_HEADS, D_FF, NUM_LAYERS = 64, 4, 2, 96, 2
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
MERGES = [("Ġ", "t"), ("h", "e"), ("Ġt", "he"), ("i", "n"), ("in", "g")]
TOKENS = [*SPECIAL, *BYTE_CHARACTERS, *("".join(pair) for pair in MERGES)]
NUMBERS = {"F32": 0, "F16": 1, "Q4_1": 3, "Q8_0": 8}
FIELDS: dict[str, Any] = {
    "general.architecture": "llama",
    "llama.embedding_length": D_MODEL,
    "llama.attention.head_count": NUM_HEADS,
    "llama.attention.head_count_kv": NUM_KV_HEADS,
    "llama.block_count": NUM_LAYERS,
    "llama.feed_forward_length": D_FF,
    "llama.context_length": 128,
    "llama.rope.dimension_count": D_MODEL // NUM_HEADS,
    "llama.rope.freq_base": 1000.0,
    "llama.attention.layer_norm_rms_epsilon": 1e-5,
    "tokenizer.ggml.add_bos_token": False,
    "tokenizer.ggml.tokens": TOKENS,
    "tokenizer.ggml.token_type": [3] * len(SPECIAL) + [1] * (len(TOKENS) - len(SPECIAL)),
    "tokenizer.ggml.merges": [" ".join(pair) for pair in MERGES],
}


def _block(kind: str, g: torch.Generator) -> bytes:
    """Return a block of 32 weights; its scales are small, so that the model stays tame."""
    scale, low = (0.02 * torch.rand(2, generator=g) + 0.005).half().tolist()
    if kind == "Q8_0":
        levels = torch.randint(-127, 128, (32,), generator=g, dtype=torch.int8)
        return struct.pack("<e", scale / 20) + levels.numpy().tobytes()
    pairs = torch.randint(0, 256, (16,), generator=g, dtype=torch.uint8)
    return struct.pack("<ee", scale, -8 * low) + pairs.numpy().tobytes()


def shapes() -> dict[str, tuple[str, tuple[int, ...]]]:
    """Return kind and shape of each tensor, by its name in the file."""
    kv = D_MODEL // NUM_HEADS * NUM_KV_HEADS
    found: dict[str, tuple[str, tuple[int, ...]]] = {
        "token_embd.weight": ("Q8_0", (len(TOKENS), D_MODEL)),
        "output_norm.weight": ("F32", (D_MODEL,)),
    }
    for number in range(NUM_LAYERS):
        layer = {
            "attn_norm": ("F32", (D_MODEL,)), "attn_q": ("Q4_1", (D_MODEL, D_MODEL)),
            "attn_k": ("Q4_1", (kv, D_MODEL)), "attn_v": ("Q4_1", (kv, D_MODEL)),
            "attn_output": ("Q4_1", (D_MODEL, D_MODEL)), "ffn_norm": ("F32", (D_MODEL,)),
            "ffn_gate": ("Q4_1", (D_FF, D_MODEL)), "ffn_up": ("Q4_1", (D_FF, D_MODEL)),
            "ffn_down": ("Q4_1", (D_MODEL, D_FF)),
        }  # fmt: skip
        found |= {f"blk.{number}.{name}.weight": one for name, one in layer.items()}
    return found


def _text(text: str) -> bytes:
    return struct.pack("<Q", len(text.encode())) + text.encode()


def _typed(value: Any) -> tuple[int, bytes]:
    if isinstance(value, bool):
        return 7, struct.pack("<?", value)
    if isinstance(value, int):
        return 4, struct.pack("<I", value)
    if isinstance(value, float):
        return 6, struct.pack("<f", value)
    if isinstance(value, str):
        return 8, _text(value)
    kinds, packed = zip(*map(_typed, value), strict=True)
    return 9, struct.pack("<IQ", kinds[0], len(value)) + b"".join(packed)


def write_gguf(
    path: Path, fields: dict[str, Any] | None = None, kinds: dict[str, str] | None = None
) -> Path:
    """Write the file; fields and kinds of tensors that are given replace its own."""
    fields, g = FIELDS | (fields or {}), torch.Generator().manual_seed(0)
    head, data = b"", b""
    for name, value in fields.items():
        number, packed = _typed(value)
        head += _text(name) + struct.pack("<I", number) + packed
    for name, (kind, shape) in shapes().items():
        number = NUMBERS[(kinds or {}).get(name, kind)]
        axes = struct.pack(f"<I{len(shape)}Q", len(shape), *shape[::-1])
        head += _text(name) + axes + struct.pack("<IQ", number, len(data))
        size = int(torch.tensor(shape).prod())
        if kind == "F32":
            new = (1 + 0.1 * torch.randn(shape, generator=g)).numpy().tobytes()
        else:
            new = b"".join(_block(kind, g) for _ in range(size // 32))
        data += new + bytes(-len(new) % 32)
    start = b"GGUF" + struct.pack("<IQQ", 3, len(shapes()), len(fields))
    head = start + head
    path.write_bytes(head + bytes(-len(head) % 32) + data)
    return path


def tokens(length: int = 12) -> Tensor:
    """Return a text of tokens of the file."""
    g = torch.Generator().manual_seed(1)
    return torch.randint(3, len(TOKENS), (1, length), generator=g)
