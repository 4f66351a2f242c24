"""Values that Python reads from a cache and from states: the widget's JavaScript must agree."""

import math
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from course_utils.attention import gated_delta_step, retention_recurrent
from course_utils.widgets.state_explorer.state_explorer import KINDS, START, VALUES

FIRST = {"key": 1, "value": 5001}
SHARPNESS = 16.0


def direction(name: str, index: int, width: int) -> Tensor:
    """Return the vector of length 1 that stands for a key or a value."""
    scattered = [
        math.sin((FIRST[name] + 67 * index + j) * 12.9898) * 43758.5453 for j in range(width)
    ]
    row = torch.tensor([2 * (x - math.floor(x)) - 1 for x in scattered], dtype=torch.float64)
    return F.normalize(row, dim=0)


def outs(kind: str, writes: list[list[int]], width: int, fade: float) -> dict[int, Tensor]:
    """Return for each key so far what is read with it after the last pair."""
    known = list(dict.fromkeys(pair[0] for pair in writes))
    keys = torch.stack([direction("key", key, width) for key, _ in writes])
    values = torch.stack([direction("value", value, width) for _, value in writes])
    asked = torch.stack([direction("key", key, width) for key in known])
    keep = torch.tensor([fade if kind in ("fade", "gated delta") else 1.0], dtype=torch.float64)
    if kind == "softmax":
        return dict(
            zip(
                known,
                F.scaled_dot_product_attention(asked, keys, values, scale=SHARPNESS),
                strict=True,
            )
        )
    read = []
    for query in asked:
        if kind.endswith("delta"):
            state = torch.zeros(1, 1, width, width, dtype=torch.float64)
            for key, value in zip(keys, values, strict=True):
                out, state = gated_delta_step(
                    query[None, None], key[None, None], value[None, None],
                    keep[None], torch.ones(1, 1, dtype=torch.float64), state,
                )  # fmt: skip
            read.append(out[0, 0])
        else:
            every = query.expand_as(keys)[None, None]
            read.append(
                retention_recurrent(every, keys[None, None], values[None, None], keep)[0, 0, -1]
            )
    return dict(zip(known, read, strict=True))


def readings(kind: str, writes: list[list[int]], width: int, fade: float) -> list[dict[str, Any]]:
    """Return for each key its newest value, the nearest one to what is read, and the cosine."""
    digits = torch.stack([direction("value", value, width) for value in range(VALUES)])
    newest = dict(writes)
    made = []
    for key, out in outs(kind, writes, width, fade).items():
        near, wanted = F.cosine_similarity(out[None], digits), newest[key]
        read = {"key": key, "wanted": wanted, "answered": int(near.argmax())}
        made.append({**read, "cosine": near[wanted].item()})
    return made


def cases() -> list[dict[str, Any]]:
    """Few pairs and many, one key written twice, every width and kind."""
    few = [list(pair) for pair in START]
    many = [[key, (7 * key + 3) % VALUES] for key in range(24)]
    twice = [*few, [0, 6], [3, 1], [0, 9]]
    made = []
    for kind in KINDS:
        for writes, width, fade in (
            (few[:1], 4, 0.5),
            (few, 8, 0.9),
            (many, 16, 0.97),
            (twice, 32, 1.0),
        ):
            read = readings(kind, writes, width, fade)
            made.append(
                {"kind": kind, "writes": writes, "width": width, "fade": fade, "readings": read}
            )
    return made
