"""The numbers that the widget shows of one text, from the model itself, and how they are packed.

A prompt's numbers are one row of bytes, deflated and in base64. In it, one after the other: how
long the words are, as four bytes; the words, in UTF-8, with a zero between two; then, of every
state and position, the best words by number, their probabilities and the entropy, and of every
position the next words and their probabilities; then, for each query and each key up to its own,
the weights in all heads. A weight is one byte; each list of the others is two bytes a number, all
high bytes first, which deflates better.
"""

import base64
import struct
import zlib
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from course_utils.interpretability import mean_ablate
from course_utils.models.released.gguf.gguf_model import Released
from course_utils.models.released.whole_pass import Pass, lens_scores, whole_pass

BEST, NEXT = 3, 10
"""Numbers of words that are kept: of each state, and as next words of each position."""

LENS, ENTROPY, CHANCE, WEIGHT = 1_000, 256, 65_535, 255
"""Factors of the lens's probabilities, its entropies in nats, next words' probabilities and weights
before they are rounded."""


def prompt_data(released: Released, name: str, text: str) -> dict[str, Any]:
    """Return one prompt as the widget takes it.

    Args:
        released: The model and its tokenizer.
        name: What the prompt is called.
        text: At least one token.
    """
    model, tokenizer = released
    ids = tokenizer.encode(text)
    if not len(ids):
        raise ValueError("text must have at least one token, got none")
    seen = whole_pass(model, ids)
    tokens = [tokenizer.decode([one]) for one in ids.tolist()]
    return {"name": name, "ids": ids.tolist(), "tokens": tokens, "data": _packed(released, seen)}


def without_head(
    released: Released, prompts: Sequence[Sequence[int]], ids: Sequence[int], layer: int, head: int
) -> dict[str, Any]:
    """Return what comes next once a head's output is its mean over all positions of some prompts.

    Returns:
        same: Of each position, the probabilities of the words that were the likeliest before.
        first: Of each position, the likeliest word now, and its probability.
    """
    model, tokenizer = released
    reference = _head_outputs(released, prompts, layer)

    def edit(number: int, outputs: Tensor) -> Tensor:
        return mean_ablate(outputs, [head], reference) if number == layer else outputs

    tokens = torch.tensor(ids)
    before = whole_pass(model, tokens).logits.topk(NEXT).indices
    after = whole_pass(model, tokens, edit).logits.softmax(-1)
    chances, words = after.max(-1)
    first = [
        [tokenizer.decode([word]), round(chance, 5)]
        for word, chance in zip(words.tolist(), chances.tolist(), strict=True)
    ]
    same = [[round(one, 5) for one in row] for row in after.gather(-1, before).tolist()]
    return {"same": same, "first": first}


def _head_outputs(released: Released, prompts: Iterable[Sequence[int]], layer: int) -> Tensor:
    """Return a layer's heads' outputs over all positions of some prompts, (1, H, M, d_k)."""
    found: list[Tensor] = []

    def keep(number: int, outputs: Tensor) -> Tensor:
        if number == layer:
            found.append(outputs)
        return outputs

    for ids in prompts:
        whole_pass(released.model, torch.tensor(ids), keep)
    return torch.cat(found, dim=2)


def _packed(released: Released, seen: Pass) -> str:
    lens = [_best(lens_scores(released.model, state), BEST) for state in seen.states]
    words, chances, entropy = (torch.stack(part) for part in zip(*lens, strict=True))
    next_words, next_chances, _ = _best(seen.logits, NEXT)
    used = torch.cat((words.flatten(), next_words.flatten())).unique()
    text = "\0".join(released.tokenizer.decode([one]) for one in used.tolist()).encode()
    numbers = [
        torch.searchsorted(used, words), chances * LENS, entropy * ENTROPY,
        torch.searchsorted(used, next_words), next_chances * CHANCE,
    ]  # fmt: skip
    length = seen.weights.shape[-1]
    rows, columns = torch.tril_indices(length, length)
    pairs = seen.weights[..., rows, columns].flatten(0, 1).mT
    maps = (pairs * WEIGHT).round().byte().contiguous().numpy()
    parts = [struct.pack("<I", len(text)), text, *map(_two_bytes, numbers), maps.tobytes()]
    return base64.b64encode(zlib.compress(b"".join(parts), 9)).decode()


def _two_bytes(numbers: Tensor) -> bytes:
    whole = numbers.double().round().numpy().astype(np.uint16)
    return b"".join(part.astype(np.uint8).tobytes() for part in (whole >> 8, whole & 255))


def _best(logits: Tensor, count: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return of each row the likeliest words, their probabilities and the entropy of all."""
    chances = logits.softmax(-1)
    best, words = chances.topk(count)
    return words, best, torch.special.entr(chances).sum(-1)
