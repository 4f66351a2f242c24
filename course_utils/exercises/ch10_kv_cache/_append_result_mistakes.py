"""What goes wrong when an append says how many slots are filled."""

import torch

from course_utils.checking.exercise import Misconception
from course_utils.exercises.ch10_kv_cache._append_wrong import build

RESULTS = (
    Misconception(
        "the old length returned",
        build(result=lambda length, new, cache: length),
        "The length came back as it was given. How many slots are filled now?",
    ),
    Misconception(
        "one token counted for many",
        build(result=lambda length, new, cache: length + 1),
        "The length grew by one, whatever was written. How many tokens are new?",
    ),
    Misconception(
        "only the new tokens counted",
        build(result=lambda length, new, cache: new.shape[2]),
        "What came back is the number of new tokens, or of free slots. Asked for is how many slots "
        "are filled now.",
        also=(
            build(result=lambda length, new, cache: cache.shape[2] - length - new.shape[2]),
            build(result=lambda length, new, cache: cache.shape[2]),
        ),
    ),
    Misconception(
        "another axis counted",
        build(result=lambda length, new, cache: length + new.shape[1]),
        "The length grew by the size of another axis than that of the tokens. Of (B, H, T, d), "
        "which one says how many are new?",
        also=(
            build(result=lambda length, new, cache: length + new.shape[0]),
            build(result=lambda length, new, cache: length + new.shape[-1]),
            build(result=lambda length, new, cache: length + len(new)),
            build(result=lambda length, new, cache: length + new.shape[0] * new.shape[2]),
            build(result=lambda length, new, cache: length + new.numel()),
        ),
    ),
    Misconception(
        "the last position instead of the length",
        build(result=lambda length, new, cache: length + new.shape[2] - 1),
        "The number is off by one: the last position is one less than how many there are.",
        also=(build(result=lambda length, new, cache: length + new.shape[2] + 1),),
    ),
    Misconception(
        "nothing returned",
        build(result=lambda length, new, cache: None),
        "The cache is right, but nothing came back. The caller's `length` is a plain number: who "
        "tells it that the cache grew?",
    ),
    Misconception(
        "the length in another wrapping",
        build(result=lambda length, new, cache: torch.tensor(length + new.shape[2])),
        "The length came as a tensor, a float, or together with the cache. Python's `int` alone is "
        "asked for: the cache was changed in place already.",
        also=(
            build(result=lambda length, new, cache: float(length + new.shape[2])),
            build(result=lambda length, new, cache: (length + new.shape[2],)),
            build(result=lambda length, new, cache: cache),
            build(result=lambda length, new, cache: cache[:, :, : length + new.shape[2]]),
        ),
    ),
)
