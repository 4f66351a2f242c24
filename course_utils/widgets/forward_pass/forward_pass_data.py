"""The numbers that the widget shows of one text, from the model itself, and how they are packed.

A prompt's numbers are one row of bytes, deflated and in base64. In it, one after the other: how
long the words are, as four bytes; the words, in UTF-8, with a zero between two; then, of every
state and position, the best words by number, their probabilities and the entropy, and of every
position the next words and their probabilities; then, for each query and each key up to its own,
the weights in all heads. A weight is one byte; each list of the others is two bytes a number, all
high bytes first, which deflates better.
"""

import base64
import math
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

ROWS = 96  # that are scored at once: fewer take longer for each, more take more memory
STRETCH = 256


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
    model, rows = released.model, seen.states[:-1].flatten(0, 1).split(ROWS)
    lens = [_best(lens_scores(model, some), BEST) for some in rows]
    # The lens of the last state is what the model itself scores.
    next_words, next_chances, last_entropy = _best(seen.logits, NEXT)
    lens.append((next_words[:, :BEST], next_chances[:, :BEST], last_entropy))
    words, chances, entropy = (torch.cat(part) for part in zip(*lens, strict=True))
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
    return base64.b64encode(zlib.compress(b"".join(parts))).decode()


def _two_bytes(numbers: Tensor) -> bytes:
    whole = numbers.double().round().numpy().astype(np.uint16)
    return b"".join(part.astype(np.uint8).tobytes() for part in (whole >> 8, whole & 255))


def _best(logits: Tensor, count: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return of each row the likeliest words, their probabilities and the entropy of all."""
    chances = logits.softmax(-1)
    best, words = _largest(chances, count)
    # The logarithm of what the softmax divides by, less the mean score: one logarithm a row.
    largest = logits.gather(-1, words[:, :1]).squeeze(-1)
    entropy = largest - best[:, 0].log() - (chances * logits).sum(-1)
    return words, best, entropy.clamp_min(0.0)


def _largest(rows: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Return `rows.topk(count)`, sought only in the stretches of a row with the largest numbers."""
    width = math.gcd(rows.shape[-1], STRETCH)
    stretches = rows.unflatten(-1, (-1, width))
    kept = stretches.amax(-1).topk(min(count, stretches.shape[-2])).indices
    found = stretches.gather(-2, kept.unsqueeze(-1).expand(-1, -1, width))
    best, place = found.flatten(-2).topk(count)
    return best, kept.gather(-1, place // width) * width + place % width
