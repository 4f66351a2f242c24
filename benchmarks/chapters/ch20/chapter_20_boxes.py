"""Measure what the chapters on scale, heads, positions and caches say, in the released model.

Method: the loss over positions 16 to 255 of three texts of 256 tokens, minus that of the unchanged
model, while one part is changed in every layer. Products and lengths are those of queries from 32
on, without key 0. A long text counts tokens 900 to 1,199, or 16 to 255. Ten minutes on one core:

    python -m benchmarks.chapters.ch20.chapter_20_boxes
"""

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from benchmarks.chapters.ch20.chapter_20_sink import Edit
from benchmarks.chapters.ch20.inside import FILE, loss, opened
from benchmarks.recording import Row, Script, each
from course_utils.attention import quantize_kv
from course_utils.data import installed_texts
from course_utils.positions import RotaryPositions

TEXTS = ("housing", "classes", "course")
LAYERS, HEADS, KV_HEADS, D_K = 30, 9, 3, 64
SCALES = {
    "1 / d_k": D_K**-0.5, "half": 0.5, "0.8 times": 0.8, "1.25 times": 1.25, "twice": 2.0,
    "none": D_K**0.5,
}  # fmt: skip
ONE = 17  # the layer whose nine heads get one pattern alone
PAIRS = {"as trained": [], "fastest 8": range(8), "slowest 16": range(16, 32), "all": range(32)}
LONG = ("sklearn", "course")
NUM_TOKENS, FAR, NEAR = 1200, slice(899, 1199), slice(15, 255)  # a loss is that of the next token


def scaled(factor: float) -> Edit:
    """Multiply the queries, and so the scores."""
    return lambda part, layer, x: x * factor if part == "queries" else x


def products(book: Any, kept: Any) -> Row:
    """Return how the unscaled scores vary within a row, and how long queries and keys are."""
    query, key = (book.stacked(kept, part)[0] for part in ("queries", "keys"))
    scores = query[:, :, 32:] @ key.repeat_interleave(HEADS // KV_HEADS, dim=1).mT
    rows = [scores[:, :, i, 1 : i + 33].var(-1) for i in range(scores.shape[2])]
    found = torch.stack(rows).mean(0).flatten()
    low, middle, high = found.quantile(torch.tensor([0.1, 0.5, 0.9])).tolist()
    return {
        "variance": round(middle), "tenth": round(low), "nine tenths": round(high),
        "query": round(query.norm(dim=-1).mean().item(), 1),
        "key": round(key[:, :, 1:].norm(dim=-1).mean().item(), 1),
        "random": D_K,
    }  # fmt: skip


def scale_row(book: Any, name: str, tokens: Tensor) -> Row:
    """Measure other scales on one text."""
    scores, kept = book.read(tokens[None])
    whole = loss(book, tokens, scores)
    found = {"text": name, "loss": round(whole, 3), **products(book, kept), "scale": {}, "top": {}}
    for how, factor in {"as trained": 1.0, **SCALES}.items():
        scores, kept = book.read(tokens[None], scaled(factor))
        found["scale"][how] = round(loss(book, tokens, scores) - whole, 3)
        top = book.stacked(kept, "weights")[0, :, :, 32:].amax(-1).mean().item()
        found["top"][how] = round(top, 3)
    return found


def one_pattern(layers: list[int], uniform: bool = False) -> Edit:
    """Give all heads of some layers their mean pattern, or equal weights."""

    def edit(part: str, layer: int, x: Tensor) -> Tensor:
        if part != "weights" or layer not in layers:
            return x
        seen = torch.ones_like(x).tril()
        return seen / seen.sum(-1, keepdim=True) if uniform else x.mean(1, True).expand_as(x)

    return edit


def zero(heads: list[tuple[int, int]]) -> Edit:
    """Set what heads return to 0."""

    def edit(part: str, layer: int, x: Tensor) -> Tensor:
        keep = torch.ones(HEADS)
        keep[[head for at, head in heads if at == layer]] = 0.0
        return x * keep[:, None, None] if part == "heads" else x

    return edit


def drawn() -> list[tuple[int, int]]:
    """Return one random head of each layer."""
    heads = torch.randint(HEADS, (LAYERS,), generator=torch.Generator().manual_seed(0))
    return list(enumerate(heads.tolist()))


def heads_row(book: Any, name: str, tokens: Tensor) -> Row:
    """Measure heads with one pattern, and without a head, on one text."""
    scores, kept = book.read(tokens[None])
    whole = loss(book, tokens, scores)
    found: Row = {"text": name}
    for how, edit in {
        "one pattern": one_pattern(list(range(LAYERS))),
        "one pattern in layer 17": one_pattern([ONE]),
        "uniform in layer 17": one_pattern([ONE], uniform=True),
        "a random head of each layer": zero(drawn()),
    }.items():
        found[how] = round(loss(book, tokens, book.read(tokens[None], edit)[0]) - whole, 3)
    found["single"] = []
    for one in drawn():
        stream = kept["state"][one[0] - 1] if one[0] else book.model.token(tokens[None])
        scores, _ = book.taps(stream, zero([one]), layer=one[0])
        found["single"].append(round(loss(book, tokens, scores) - whole, 4))
    return found


def losses(book: Any, tokens: Tensor, pairs: Any) -> Tensor:
    """Return the loss of each token where some pairs are not rotated by their position."""
    own = book.model.positions
    frequencies = own.table.frequencies.clone()
    frequencies[list(pairs)] = 0.0
    book.model.positions = RotaryPositions(D_K, frequencies=frequencies)
    scores = book.model.logits(tokens[None])[0]
    book.model.positions = own
    return F.cross_entropy(scores[:-1], tokens[1:], reduction="none")


def rope_row(book: Any, name: str, tokens: Tensor, place: slice = NEAR) -> Row:
    """Measure positions without some pairs on one text."""
    found = {how: losses(book, tokens, pairs) for how, pairs in PAIRS.items()}
    where = {"near": NEAR} if place is NEAR else {"near": NEAR, "far": place}
    return {"text": name} | {
        f"{how}, {at}": round(one[span].mean().item(), 3)
        for how, one in found.items() for at, span in where.items()
    }  # fmt: skip


def steps(x: Tensor, bits: int, axis: int = -1, zero_point: bool = False) -> Tensor:
    """Return keys or values rounded; all along the axis share a scale."""
    if bits == 8 and not zero_point:
        whole, size = quantize_kv(x)
        return whole * size
    if not zero_point:
        size = x.abs().amax(axis, keepdim=True) / (2 ** (bits - 1) - 1)
        return (x / size).round() * size
    low, high = x.amin(axis, keepdim=True), x.amax(axis, keepdim=True)
    size = (high - low) / (2**bits - 1)
    return ((x - low) / size).round() * size + low


def rounded_kv(bits: int, kind: str) -> Edit:
    """Round keys and values as a cache would."""

    def edit(part: str, layer: int, x: Tensor) -> Tensor:
        if part not in ("keys", "values") or (kind in ("keys", "values") and kind != part):
            return x
        axis = -2 if kind == "keys per channel" and part == "keys" else -1
        return steps(x, bits, axis, kind in ("zero point", "keys per channel"))

    return edit


def cache_row(book: Any, name: str, tokens: Tensor) -> Row:
    """Measure rounded keys and values on one text."""
    whole = loss(book, tokens, book.read(tokens[None])[0])
    kinds = ("per token", "zero point", "keys per channel")
    cases = [(8, "per token"), *((bits, kind) for bits in (4, 2) for kind in kinds)]
    found: Row = {"text": name}
    for bits, kind in [*cases, (2, "keys"), (2, "values")]:
        scores, _ = book.read(tokens[None], rounded_kv(bits, kind))
        found[f"{bits} bits, {kind}"] = round(loss(book, tokens, scores) - whole, 4)
    return found


def main() -> None:
    """Run from the command line."""
    script = Script(__file__, __doc__)
    book = opened()
    texts = {name: one for name, one in book.five_texts().items() if name in TEXTS}
    encoded = {name: book.tokenizer.encode(installed_texts()[name])[:NUM_TOKENS] for name in LONG}
    script.record(
        what="loss (nats per token) that the released model gains where one part is changed",
        settings={**FILE, "tokens": 256, "heads": drawn(), "cache": [LAYERS, KV_HEADS, D_K]},
        scale=each(lambda *one: scale_row(book, *one), texts.items()),
        heads=each(lambda *one: heads_row(book, *one), texts.items()),
        rope=each(lambda *one: rope_row(book, *one), texts.items()),
        long=each(lambda name, one: rope_row(book, name, one, FAR), encoded.items()),
        runs=each(lambda *one: cache_row(book, *one), texts.items()),
    )


if __name__ == "__main__":
    main()
