"""What goes wrong when the tokens that fit into memory are counted."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from course_utils.checking.exercise import Function, Misconception

_GIB = 2**30


def _mistake(name: str, says: str, *rules: Callable[..., Any]) -> Misconception:
    """Name a mistake by rules of (gib, layers, heads, d, size, batch)."""
    first, *rest = rules
    return Misconception(name, first, says, also=tuple(rest))


def _per(bytes_of_token: Callable[..., float], unit: float = _GIB) -> Function:
    """Count with other bytes of a token, from (layers, heads, d, size, batch), or other units."""
    return lambda gib, *sizes: int(gib * unit / max(bytes_of_token(*sizes), 1))


def _exact(gib: float, layers: int, heads: int, d: int, size: int, batch: int) -> float:
    return gib * _GIB / (2 * layers * heads * d * size * batch)


def _right(layers: int, heads: int, d: int, size: int, batch: int) -> int:
    return 2 * layers * heads * d * size * batch


def _of(change: Callable[[float], Any]) -> Function:
    """Return something else made of the exact quotient."""
    return lambda *given: change(_exact(*given))


MISCONCEPTIONS = (
    _mistake(
        "keys and values counted once",
        "Twice as many tokens as fit: of each token, two things are kept.",
        _per(lambda layers, heads, d, size, batch: layers * heads * d * size * batch),
    ),
    _mistake(
        "queries kept too",
        "Fewer tokens than fit: something is counted besides keys and values. Who reads an old "
        "query again?",
        _per(lambda *sizes: 3 * _right(*sizes) / 2),
        _per(lambda *sizes: 2 * _right(*sizes)),
    ),
    _mistake(
        "the tokens of the whole batch",
        "These are the tokens of all sequences together, or the batch counted the wrong way. How "
        "many does each sequence get?",
        _per(lambda layers, heads, d, size, batch: _right(layers, heads, d, size, 1)),
        lambda gib, layers, heads, d, size, batch: (
            int(_exact(gib, layers, heads, d, size, 1)) * batch
        ),
        lambda *given: int(_exact(*given)) * given[-1],
    ),
    _mistake(
        "the layers left out",
        "The tokens that fit for one layer. Every layer keeps keys and values of its own.",
        _per(lambda layers, heads, d, size, batch: _right(1, heads, d, size, batch)),
        _per(lambda layers, heads, d, size, batch: _right(layers**2, heads, d, size, batch)),
    ),
    _mistake(
        "the heads left out",
        "The tokens that fit for one head of keys and values. How many does a layer have?",
        _per(lambda layers, heads, d, size, batch: _right(layers, 1, d, size, batch)),
        _per(lambda layers, heads, d, size, batch: _right(layers, heads**2, d, size, batch)),
    ),
    _mistake(
        "the width left out",
        "A key was counted as one number, or as d_k × d_k. How many numbers is it?",
        _per(lambda layers, heads, d, size, batch: _right(layers, heads, 1, size, batch)),
        _per(lambda layers, heads, d, size, batch: _right(layers, heads, d * d, size, batch)),
    ),
    _mistake(
        "numbers instead of bytes",
        "The memory is in bytes, the cache was counted in numbers. How many bytes is a number?",
        _per(lambda layers, heads, d, size, batch: _right(layers, heads, d, 1, batch)),
        _per(lambda layers, heads, d, size, batch: _right(layers, heads, d, size**2, batch)),
    ),
    _mistake(
        "a size of number assumed",
        "2 or 4 bytes a number were taken for granted. Which argument says it?",
        _per(lambda layers, heads, d, size, batch: _right(layers, heads, d, 2, batch)),
        _per(lambda layers, heads, d, size, batch: _right(layers, heads, d, 4, batch)),
        _per(lambda layers, heads, d, size, batch: _right(layers, heads, d, 8, batch)),
    ),
    _mistake(
        "bits and bytes confused",
        "The count is eight times too large or too small. The bytes of a number are bytes already.",
        _per(lambda *sizes: _right(*sizes) * 8),
        _per(lambda *sizes: _right(*sizes) / 8),
    ),
    _mistake(
        "gigabytes of ten to the nine",
        "A GiB was taken for a GB. The i says that it is a power of two: which?",
        _per(_right, 1e9),
        lambda gib, *sizes: gib * 10**9 // _right(*sizes),
        lambda gib, *sizes: int(gib * 1000**3 // _right(*sizes)),
    ),
    _mistake(
        "another unit",
        "The memory was taken in kibibytes, mebibytes or plain bytes. How many bytes is a GiB?",
        _per(_right, 1),
        _per(_right, 2**10),
        _per(_right, 2**20),
        _per(_right, 2**40),
        _per(_right, 1e6),
        _per(_right, 1024**2 * 1000),
    ),
    _mistake(
        "whole GiB only",
        "The part of a GiB behind the point was lost. When is the time to round?",
        lambda gib, *sizes: int(_exact(int(gib), *sizes)),
        lambda gib, *sizes: int(_exact(round(gib), *sizes)),
        lambda gib, *sizes: int(_exact(math.ceil(gib), *sizes)),
    ),
    _mistake(
        "rounded up",
        "The last token counted does not fit as a whole. To which side must a capacity be rounded?",
        _of(math.ceil),
        _of(round),
        _of(lambda exact: int(exact) + 1),
    ),
    _mistake(
        "one token too few",
        "One more token fits: an exact fill is allowed.",
        _of(lambda exact: int(exact) - 1),
        _of(lambda exact: max(int(exact) - 1, 0)),
        _of(lambda exact: math.ceil(exact) - 1),
    ),
    _mistake(
        "at least one token",
        "Where not even one token fits, the answer is 0.",
        _of(lambda exact: max(int(exact), 1)),
    ),
    _mistake(
        "a fraction of a token",
        "The count is no whole number of Python's. A capacity is an int, rounded down.",
        _of(lambda exact: exact),
        _of(lambda exact: float(int(exact))),
        _of(lambda exact: torch.tensor(int(exact))),
        _of(lambda exact: np.int64(exact)),
        lambda gib, *sizes: gib * _GIB // _right(*sizes),
    ),
    _mistake(
        "multiplied instead of divided",
        "The number grows with the size of a token. A larger token takes more room: what does that "
        "do to how many fit?",
        lambda gib, *sizes: int(gib * _GIB) * _right(*sizes),
        lambda gib, *sizes: int(gib * _right(*sizes)),
        lambda gib, *sizes: int(_right(*sizes) / max(gib * _GIB, 1)),
    ),
    _mistake(
        "rounded before the last division",
        "The count was rounded down at a step where a remainder still mattered, or rounded to a "
        "power of two. Divide by the bytes of one whole token, once.",
        lambda gib, layers, heads, d, size, batch: (
            int(gib * _GIB) // (2 * size * heads * d) // layers // batch // 2 * 2
        ),
        _of(lambda exact: 2 ** int(math.log2(exact)) if exact >= 1 else 0),
        _of(lambda exact: int(exact) // 10 * 10),
        _of(lambda exact: int(exact) // 16 * 16),
    ),
    _mistake(
        "added instead of multiplied",
        "Two sizes were added to each other. Twice the layers are twice the bytes of a token.",
        _per(lambda layers, heads, d, size, batch: 2 * (layers + heads) * d * size * batch),
        _per(lambda layers, heads, d, size, batch: 2 * layers * (heads + d) * size * batch),
        _per(lambda layers, heads, d, size, batch: 2 * layers * heads * d * (size + batch)),
        _per(lambda *sizes: 2 * sum(sizes)),
    ),
    _mistake(
        "overflow",
        "A large memory came out wrong: 32 bits end at two thousand million, and float32 loses "
        "digits long before. Python's own int does neither.",
        lambda gib, *sizes: ((int(gib * _GIB) + 2**31) % 2**32 - 2**31) // _right(*sizes),
        lambda gib, *sizes: int(gib * _GIB) % 2**32 // _right(*sizes),
        lambda gib, *sizes: min(int(gib * _GIB), 2**31 - 1) // _right(*sizes),
        _of(lambda exact: int(torch.tensor(exact, dtype=torch.float32))),
    ),
)
