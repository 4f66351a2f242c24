"""What goes wrong when the bytes of cached keys and values are counted."""

from collections.abc import Callable
from typing import Any

import torch

from course_utils.checking.exercise import Function, Misconception
from course_utils.measure import kv_cache_bytes


def _changed(*changes: Callable[..., Any]) -> tuple[Function, ...]:
    """Return counts that make something else of the right one, n, and the six arguments."""
    return tuple(_one(change) for change in changes)


def _one(change: Callable[..., Any]) -> Function:
    def wrong(
        num_layers: int, num_kv_heads: int, d_k: int, num_tokens: int, batch: int, size: int
    ) -> Any:
        given = (num_layers, num_kv_heads, d_k, num_tokens, batch, size)
        return change(kv_cache_bytes(*given), *given)

    return wrong


def _mistake(name: str, says: str, *changes: Callable[..., Any]) -> Misconception:
    first, *rest = _changed(*changes)
    return Misconception(name, first, says, also=tuple(rest))


MISCONCEPTIONS = (
    _mistake(
        "keys and values counted once",
        "The count is half of what it should be. Two things are kept of every token: which?",
        lambda n, layers, heads, d, tokens, batch, size: n // 2,
    ),
    _mistake(
        "queries kept too",
        "The count is larger by half or twice as large: something is kept that no later token asks "
        "for. Who reads an old query again?",
        lambda n, layers, heads, d, tokens, batch, size: n // 2 * 3,
        lambda n, layers, heads, d, tokens, batch, size: n * 2,
    ),
    _mistake(
        "the batch left out",
        "The bytes are those of one sequence. Each sequence of the batch has tokens of its own.",
        lambda n, layers, heads, d, tokens, batch, size: n // batch,
        lambda n, layers, heads, d, tokens, batch, size: n * batch,
    ),
    _mistake(
        "the layers left out",
        "The bytes are those of one layer. Which layer could use another one's keys?",
        lambda n, layers, heads, d, tokens, batch, size: n // layers,
        lambda n, layers, heads, d, tokens, batch, size: n * layers,
    ),
    _mistake(
        "the heads left out",
        "The bytes are those of one head of keys and values. How many does a layer have?",
        lambda n, layers, heads, d, tokens, batch, size: n // heads,
        lambda n, layers, heads, d, tokens, batch, size: n * heads,
    ),
    _mistake(
        "the width left out",
        "A key was counted as one number, or as a table of d_k × d_k. How many numbers is it?",
        lambda n, layers, heads, d, tokens, batch, size: n // d,
        lambda n, layers, heads, d, tokens, batch, size: n * d,
    ),
    _mistake(
        "the tokens left out",
        "The bytes are those of a single token. How many tokens of a sequence are kept?",
        lambda n, layers, heads, d, tokens, batch, size: n // tokens if tokens else 0,
        lambda n, layers, heads, d, tokens, batch, size: 2 * layers * heads * d * batch * size,
    ),
    _mistake(
        "tokens of the past only",
        "One token too few or too many is counted. `num_tokens` is how many are kept: where does "
        "the other one come from?",
        lambda n, layers, heads, d, tokens, batch, size: (
            2 * layers * heads * d * (tokens - 1) * batch * size
        ),
        lambda n, layers, heads, d, tokens, batch, size: (
            2 * layers * heads * d * (tokens + 1) * batch * size
        ),
    ),
    _mistake(
        "tokens squared",
        "The count grows with the square of the length, as a table of weights would. What is kept "
        "of a token does not depend on how many others there are.",
        lambda n, layers, heads, d, tokens, batch, size: n * tokens,
        lambda n, layers, heads, d, tokens, batch, size: n // 2 * tokens,
        lambda n, layers, heads, d, tokens, batch, size: (
            2 * layers * heads * tokens * tokens * batch * size
        ),
        lambda n, layers, heads, d, tokens, batch, size: (
            layers * heads * tokens * tokens * batch * size
        ),
        lambda n, layers, heads, d, tokens, batch, size: n * (tokens + 1) // 2,
    ),
    _mistake(
        "numbers instead of bytes",
        "These are numbers, not bytes. How many bytes does one of them take?",
        lambda n, layers, heads, d, tokens, batch, size: n // size,
    ),
    _mistake(
        "bits",
        "The count is eight times too large or too small. `bytes_per_element` is in bytes already.",
        lambda n, layers, heads, d, tokens, batch, size: n * 8,
        lambda n, layers, heads, d, tokens, batch, size: n // 8,
        lambda n, layers, heads, d, tokens, batch, size: n // size // 8,
    ),
    _mistake(
        "a size of number assumed",
        "The bytes of a number are not those that were given: 2 or 4 were taken for granted. Which "
        "argument says it?",
        lambda n, layers, heads, d, tokens, batch, size: n // size * 2,
        lambda n, layers, heads, d, tokens, batch, size: n // size * 4,
        lambda n, layers, heads, d, tokens, batch, size: n // size * 8,
        lambda n, layers, heads, d, tokens, batch, size: n * 2 * size // 2 * size,
    ),
    _mistake(
        "added instead of multiplied",
        "Two of the sizes were added to each other. Each of them multiplies the number of keys: "
        "twice the layers, twice the bytes.",
        lambda n, layers, heads, d, tokens, batch, size: (
            2 * (layers + heads) * d * tokens * batch * size
        ),
        lambda n, layers, heads, d, tokens, batch, size: (
            2 * layers * (heads + d) * tokens * batch * size
        ),
        lambda n, layers, heads, d, tokens, batch, size: (
            2 * layers * heads * d * (tokens + batch) * size
        ),
        lambda n, layers, heads, d, tokens, batch, size: (
            layers * heads * d * tokens * batch * size + 2
        ),
        lambda n, layers, heads, d, tokens, batch, size: (
            2 * (layers + heads + d + tokens + batch + size)
        ),
    ),
    _mistake(
        "another unit",
        "The count was divided into kilobytes, megabytes or gigabytes. Bytes are asked for: what "
        "may turn them into something to read is a print.",
        lambda n, layers, heads, d, tokens, batch, size: n // 1024,
        lambda n, layers, heads, d, tokens, batch, size: n // 1024**2,
        lambda n, layers, heads, d, tokens, batch, size: n // 1024**3,
        lambda n, layers, heads, d, tokens, batch, size: n / 1024**2,
        lambda n, layers, heads, d, tokens, batch, size: n / 1e6,
        lambda n, layers, heads, d, tokens, batch, size: n / 1024**3,
        lambda n, layers, heads, d, tokens, batch, size: n / 1e9,
    ),
    _mistake(
        "a float",
        "The count is no whole number of Python's: `/` or `1e3` gives a float. What keeps an int?",
        lambda n, *given: float(n),
    ),
    _mistake(
        "a tensor",
        "The count came as a tensor. Python's `int` is asked for, and it has no largest number.",
        lambda n, *given: torch.tensor(n),
    ),
    _mistake(
        "overflow",
        "A large count came out negative or smaller: 32 bits end at about two thousand million. "
        "Python's own int does not.",
        lambda n, *given: (n + 2**31) % 2**32 - 2**31,
        lambda n, *given: n % 2**32,
        lambda n, *given: min(n, 2**31 - 1),
        lambda n, *given: int(torch.tensor(float(n), dtype=torch.float32)),
    ),
)
