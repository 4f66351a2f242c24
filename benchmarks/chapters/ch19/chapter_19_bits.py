"""Measure what quantising the released model again adds to its loss.

Method: one thread, float32. All 210 matrices of the layers are rounded with `quantize_blocks`, or
symmetrically, and restored; the embedding stays. The file's weights are already quantised, so each
row is error on top of error. The loss is the mean over 299 tokens of each of three texts; `error`
is the root mean square of what was added, as a share of the weights' own. Eight minutes on
one core:

    python -m benchmarks.chapters.ch19.chapter_19_bits
"""

import torch
from torch import Tensor

from benchmarks.chapters.ch19.model_texts import NUM_TOKENS, opened, text_tokens
from benchmarks.chapters.definitions import definitions
from benchmarks.recording import Row, Script, each
from course_utils.model_file import SHA256
from course_utils.models import quantize_blocks

NAMES = ("RIGHT", "split", "attend", "read_tokens", "text_loss")
LAYERS = ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down")
CASES = [
    *(("minimum", bits, 32, LAYERS) for bits in (8, 6, 5, 4, 3, 2)),
    *(("minimum", 4, block, LAYERS) for block in (64, 0)),
    *(("symmetric", bits, 32, LAYERS) for bits in (8, 4, 3)),
    *(("minimum", 3, 32, part) for part in (LAYERS[:2], LAYERS[2:3], LAYERS[6:])),
]


def restored(matrix: Tensor, kind: str, bits: int, block: int) -> Tensor:
    """Return a matrix rounded to levels; a block of 0 is a whole row."""
    size = block or matrix.shape[1]
    if kind == "minimum":
        q, scale, low = quantize_blocks(matrix, bits, size)
        return (q.unflatten(-1, (-1, size)) * scale[..., None] + low[..., None]).flatten(-2)
    parts, most = matrix.unflatten(-1, (-1, size)), 2 ** (bits - 1) - 1
    scale = parts.abs().amax(-1, keepdim=True) / most
    return ((parts / scale).round().clamp(-most, most) * scale).flatten(-2)


def main() -> None:
    """Run from the command line."""
    script = Script(__file__, __doc__)
    file, weights = opened()
    tokens, loss = text_tokens(file, NUM_TOKENS), definitions("19", *NAMES)["text_loss"]

    def row(kind: str, bits: int, block: int, parts: tuple[str, ...]) -> Row:
        made, wrong, all_of_it = dict(weights), 0.0, 0.0
        for name, matrix in weights.items():
            if name.split(".")[-2] in parts:
                made[name] = restored(matrix, kind, bits, block)
                wrong += (made[name] - matrix).square().sum().item()
                all_of_it += matrix.square().sum().item()
        return {
            "kind": kind, "bits": bits, "block": block or "row", "parts": list(parts),
            "error": round((wrong / all_of_it) ** 0.5, 4),
            "loss": {text: round(loss(read, made), 3) for text, read in tokens.items()},
        }  # fmt: skip

    with torch.inference_mode():
        plain = {text: round(loss(read, weights), 3) for text, read in tokens.items()}
        runs = each(row, CASES)
    script.record(
        what="loss (nats per token) of the released model, its layers quantised again",
        settings={"sha256": SHA256, "tokens": NUM_TOKENS, "loss of the file": plain},
        runs=runs,
    )


if __name__ == "__main__":
    main()
