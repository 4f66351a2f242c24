"""Windowed attention whose values are right, and whose cost is that of all pairs."""

import math
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from course_utils.attention import window_mask
from course_utils.checking.exercise import Misconception
from course_utils.exercises.ch08_cheaper._window import build, inside


def _by_torch(query: Tensor, key: Tensor, value: Tensor, window: int) -> Any:
    length = query.shape[-2]
    mask = window_mask(length, length, window)
    return F.scaled_dot_product_attention(query, key, value, attn_mask=mask)


def _row_by_row(query: Tensor, key: Tensor, value: Tensor, window: int) -> Any:
    """Score all keys for one query at a time: the memory is saved, the work is not."""
    place, rows = torch.arange(key.shape[-2]), []
    for i in range(query.shape[-2]):
        scores = query[:, :, i : i + 1] @ key.mT / math.sqrt(query.shape[-1])
        far = (place > i) | (place <= i - window)
        rows.append(scores.masked_fill(far, -torch.inf).softmax(-1) @ value)
    return torch.cat(rows, dim=2)


def _block_by_block(query: Tensor, key: Tensor, value: Tensor, window: int) -> Any:
    """Let blocks of queries meet the whole past."""
    rows = []
    for start in range(0, query.shape[-2], 32):
        stop = min(start + 32, query.shape[-2])
        mask = window_mask(stop - start, stop, window, start)
        past = key[:, :, :stop], value[:, :, :stop]
        rows.append(F.scaled_dot_product_attention(query[:, :, start:stop], *past, mask))
    return torch.cat(rows, dim=2)


def _by_hand(query: Tensor, key: Tensor, value: Tensor, window: int) -> Any:
    rows = []
    for i in range(query.shape[-2]):
        scores = (query[:, :, i : i + 1] * key).sum(-1) / math.sqrt(query.shape[-1])
        far = torch.arange(key.shape[-2]).sub(i)
        weights = scores.masked_fill((far > 0) | (far <= -window), -torch.inf).softmax(-1)
        rows.append((weights.unsqueeze(-1) * value).sum(-2))
    return torch.stack(rows, dim=2)


DENSE = Misconception(
    "window masked but dense",
    build(),
    "The values are right, but all L × L pairs are computed, or a mask of that size is made, and "
    "nearly all of it is thrown away: a mask hides scores, it does not save them. Which keys does "
    "a run of neighbouring queries need at all?",
    also=(
        inside(),
        lambda q, k, v, window: inside(turn=lambda s: s.softmax(-1))(q, k, v, window),
        _by_torch,
        _row_by_row,
        _block_by_block,
        _by_hand,
    ),
)
