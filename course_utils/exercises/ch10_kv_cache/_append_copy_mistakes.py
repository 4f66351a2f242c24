"""The right values by the wrong way: a cache that is copied to add a few rows."""

import torch
from torch import Tensor

from course_utils.checking.exercise import Misconception
from course_utils.exercises.ch10_kv_cache._append_wrong import build, write


def _whole(cache: Tensor, length: int, new: Tensor) -> None:
    rest = cache[:, :, length + new.shape[2] :]
    cache.copy_(torch.cat([cache[:, :, :length], new, rest], dim=2))


def _whole_where(cache: Tensor, length: int, new: Tensor) -> None:
    full = torch.zeros_like(cache)
    write(full, length, new)
    slot = torch.arange(cache.shape[2]).unsqueeze(-1)
    inside = (slot >= length) & (slot < length + new.shape[2])
    cache.copy_(torch.where(inside, full, cache))


def _whole_by_clone(cache: Tensor, length: int, new: Tensor) -> None:
    made = cache.clone()
    write(made, length, new)
    cache[...] = made


COPIED = Misconception(
    "the whole cache written again",
    build(_whole),
    "The values are right, but the whole cache was copied to add a few rows. That is what the "
    "memory was taken in advance for: which slots are new?",
    also=(build(_whole_where), build(_whole_by_clone)),
)
