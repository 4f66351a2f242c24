"""Measure what each wrong setting of a port costs on text.

Method: one thread, float32. The functions are those of chapter 19's notebook, each with one part
changed; the loss is the mean over 299 tokens of each of three texts. Weights read wrongly are made
from the file's bytes. About a minute for each text on one core:

    python -m benchmarks.chapters.ch19.chapter_19_ports
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from benchmarks.chapters.ch19.model_texts import NUM_TOKENS, opened, text_tokens
from benchmarks.chapters.definitions import definitions
from benchmarks.recording import Row, Script, each
from course_utils.model_file import SHA256
from course_utils.models import gated_feed_forward
from course_utils.models.released.gguf.gguf_file import GGUFFile
from course_utils.positions import rope_interleaved, rope_split_halves

NOTEBOOK = definitions(
    "19",
    *("RIGHT", "split", "attend", "read_tokens", "text_loss", "reordered", "layer_norm"),
    *("PORTS", "ported"),
)


def fresh_head(name: str, matrix: Tensor) -> Tensor:
    """Return a random matrix of the output in place of the embedding."""
    if name != "output":
        return matrix
    return torch.randn(matrix.shape, generator=torch.Generator().manual_seed(0)) * 0.04


MORE_PORTS: dict[str, dict[str, Any]] = {
    "eps 1e-6": {"eps": 1e-6},
    "eps 1e-3": {"eps": 1e-3},
    "RoPE base 500,000": {"base": 500_000.0},
    "queries reordered, keys not": {
        "made": NOTEBOOK["reordered"]("attn_q"),
        "rotate": rope_split_halves,
    },
    "no positions": {"rotate": lambda x, places, base: x},
    "rotated the other way": {"rotate": lambda x, places, base: rope_interleaved(x, -places, base)},
    "head h reads h % 3": {"share": lambda shared: shared[:, [0, 1, 2] * 3]},
    "no scale": {"scale": 1.0},
    "1/√(8 d_k)": {"scale": 512**-0.5},
    "embedding times √d_model": {"factor": 24.0},
    "gate and up swapped": {
        "feed": lambda x, gate, up, down: gated_feed_forward(x, up, gate, down)
    },
    "no last norm": {"last_norm": lambda x, gain, eps: x},
    "a fresh output matrix": {"made": fresh_head},
}


def neighbours(low: Tensor, high: Tensor, d: Tensor, m: Tensor) -> Tensor:
    """Read both halves of a byte as neighbours."""
    return torch.stack([low, high], dim=-1).flatten(1) * d + m


def high_first(low: Tensor, high: Tensor, d: Tensor, m: Tensor) -> Tensor:
    """Take the high half of a byte for the low one."""
    return torch.cat([high, low], dim=1) * d + m


def without_minimum(low: Tensor, high: Tensor, d: Tensor, m: Tensor) -> Tensor:
    """Subtract 8 instead of adding the minimum, as Q4_0 does."""
    return (torch.cat([low, high], dim=1) - 8) * d


def read_wrongly(
    file: GGUFFile, weights: dict[str, Tensor], read: Callable[..., Tensor]
) -> dict[str, Tensor]:
    """Return the weights with every block of four bits read in another way."""
    made = dict(weights)
    for name, tensor in file.tensors.items():
        if tensor.kind == "Q4_1":
            d, m = tensor.data[:, :4].contiguous().view(torch.float16).float().split(1, dim=1)
            pairs = tensor.data[:, 4:]
            made[name] = read((pairs & 15).float(), (pairs >> 4).float(), d, m).view(tensor.shape)
    return made


def main() -> None:
    """Run from the command line."""
    script = Script(__file__, __doc__)
    file, weights = opened()
    tokens = text_tokens(file, NUM_TOKENS)

    def row(port: str, changes: Row, given: dict[str, Tensor]) -> Row:
        loss = {
            text: round(NOTEBOOK["text_loss"](read, given, NOTEBOOK["ported"](changes)), 4)
            for text, read in tokens.items()
        }
        return {"port": port, "loss": loss}

    ports = NOTEBOOK["PORTS"] | MORE_PORTS
    cases = [(name, changes, weights) for name, changes in ports.items()]
    half = {name: one.bfloat16() for name, one in weights.items()}
    runs = each(row, [*cases, ("everything in bfloat16", {}, half)])
    for name, read in (
        ("the halves of a byte as neighbours", neighbours),
        ("the high half of a byte first", high_first),
        ("Q4_0's rule for Q4_1", without_minimum),
    ):
        runs += each(row, [(name, {}, read_wrongly(file, weights, read))])
    script.record(
        what="loss (nats per token) of the released model with one part of the port changed",
        settings={"sha256": SHA256, "tokens": NUM_TOKENS},
        runs=runs,
    )


if __name__ == "__main__":
    main()
