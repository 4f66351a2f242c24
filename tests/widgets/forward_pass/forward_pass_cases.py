"""The record's numbers, unpacked with NumPy and measured with the course's functions.

The JavaScript must agree with them.
"""

import base64
import math
import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from course_utils.interpretability import attention_entropy, role_share, without_key
from course_utils.measure import read_record

RECORD = "chapter_20_forward_pass"
VIEWS = [(0, 13, 9, 8), (1, 4, 20, 3), (2, 9, 18, 6), (3, 7, 0, 0), (4, 6, 24, 4), (5, 0, 29, 8)]
MEASURES = ("first", "previous", "followed", "entropy")


@dataclass(frozen=True)
class Numbers:
    """A prompt, unpacked: the weights (layers, heads, L, L), words and their probabilities."""

    tokens: list[str]
    ids: list[int]
    weights: Tensor
    lens_words: list[list[list[str]]]
    lens_chances: Tensor
    entropies: Tensor
    next_words: list[list[str]]
    next_chances: Tensor


def unpacked(run: Mapping[str, Any], settings: Mapping[str, Any]) -> Numbers:
    """Return a prompt's numbers; `settings` are a record's."""
    raw = zlib.decompress(base64.b64decode(run["data"]))
    at = 4 + struct.unpack("<I", raw[:4])[0]
    words = np.array(raw[4:at].decode().split("\0"))
    layers, heads, length = settings["layers"], settings["heads"], len(run["tokens"])

    def numbers(*shape: int) -> np.ndarray:
        nonlocal at
        high, low = np.frombuffer(raw, np.uint8, 2 * math.prod(shape), at).reshape(2, -1)
        at += 2 * math.prod(shape)
        return (high.astype(int) << 8 | low).reshape(shape)

    cells, best, following = (layers + 1, length), settings["best"], settings["next"]
    lens_words = words[numbers(*cells, best)].tolist()
    lens_chances = torch.tensor(numbers(*cells, best)) / settings["lens"]
    entropies = torch.tensor(numbers(*cells)) / settings["entropy"]
    next_words = words[numbers(length, following)].tolist()
    next_chances = torch.tensor(numbers(length, following)) / settings["chance"]
    pairs = torch.tensor(np.frombuffer(raw, np.uint8, offset=at).copy()) / settings["weight"]
    weights = torch.zeros(layers, heads, length, length)
    rows, columns = np.tril_indices(length)
    weights[..., rows, columns] = pairs.view(-1, layers, heads).permute(1, 2, 0)
    return Numbers(
        run["tokens"], run["ids"], weights, lens_words, lens_chances, entropies, next_words,
        next_chances,
    )  # fmt: skip


def of_widget(widget: Any, prompt: int) -> Numbers:
    """Return the numbers of a widget's prompt."""
    sizes = {"layers": widget.layers, "heads": widget.heads, **widget.packing}
    return unpacked(widget.prompts[prompt], sizes)


def keys(measure: str, ids: list[int]) -> Tensor:
    """Return which keys play a role for which queries."""
    length = len(ids)
    if measure == "first":
        return torch.arange(length).expand(length, -1) == 0
    if measure == "previous":
        return torch.eye(length).roll(-1, 1).tril().bool()
    same = torch.tensor(ids).unsqueeze(1) == torch.tensor([-1, *ids[:-1]])
    return same.tril()


def measured(numbers: Numbers, measure: str, query: int) -> tuple[Tensor, float]:
    """Return a number of each head, (layers, heads), and the base rate."""
    if measure == "entropy":
        return attention_entropy(numbers.weights.double())[..., query], 0.0
    only = torch.zeros(len(numbers.ids), 1, dtype=torch.bool)
    only[query] = True
    return role_share(numbers.weights.double(), keys(measure, numbers.ids) & only)


def case(prompt: int, position: int, layer: int, head: int) -> dict[str, Any]:
    """Return what each view shows of one choice."""
    record = read_record(RECORD)
    numbers = unpacked(record["runs"][prompt], record["settings"])
    weights = numbers.weights[layer, head].double()
    found: dict[str, Any] = {
        "prompt": prompt, "position": position, "layer": layer, "head": head,
        "row": weights[position, : position + 1].tolist(),
        "without": without_key(weights, 0)[position, : position + 1].tolist(),
        "lens": numbers.lens_words[layer + 1][position],
        "lensChances": numbers.lens_chances[layer + 1, position].double().tolist(),
        "lensEntropy": numbers.entropies[layer + 1, position].item(),
        "next": numbers.next_words[position],
        "nextChances": numbers.next_chances[position].double().tolist(),
    }  # fmt: skip
    for measure in MEASURES:
        values, base = measured(numbers, measure, position)
        found[measure] = {
            "value": values[layer, head].item(), "sum": values.sum().item(), "base": base,
            "above": int((values > 2.9 * base).sum()) if base else 0,
        }  # fmt: skip
    return found


def cases() -> list[dict[str, Any]]:
    """A view of each prompt."""
    return [case(*view) for view in VIEWS]
