"""Appending to a cache with exchangeable steps: a mistake exchanges one of them."""

from collections.abc import Callable
from typing import Any

from torch import Tensor

from course_utils.checking.exercise import Function

Write = Callable[[Tensor, int, Tensor], None]


def write(cache: Tensor, length: int, new: Tensor) -> None:
    """Write the new rows behind the first `length`, as it should be done."""
    cache[:, :, length : length + new.shape[2]] = new


def refuse(cache: Tensor, length: int, new: Tensor) -> None:
    """Raise where the new rows do not fit, as it should be done."""
    if length + new.shape[2] > cache.shape[2]:
        raise ValueError("the cache is full")


def build(
    keys: Write = write,
    values: Write | None = None,
    check: Write = refuse,
    result: Callable[[int, Tensor, Tensor], Any] = lambda length, new, cache: length + new.shape[2],
) -> Function:
    """Return an append with some of its steps exchanged.

    Args:
        keys: How the keys are written.
        values: How the values are, if otherwise.
        check: What is done first.
        result: What is returned, from the old length, the new keys and the cache.
    """

    def wrong(
        cache_key: Tensor, cache_value: Tensor, length: int, key: Tensor, value: Tensor
    ) -> Any:
        check(cache_key, length, key)
        keys(cache_key, length, key)
        (values or keys)(cache_value, length, value)
        return result(length, key, cache_key)

    return wrong


def at(place: Callable[[int, int, int], int]) -> Write:
    """Write at another start, from length, new rows and slots; what leaves the cache is dropped."""

    def put(cache: Tensor, length: int, new: Tensor) -> None:
        start = place(length, new.shape[2], cache.shape[2])
        inside = range(max(0, -start), max(0, min(new.shape[2], cache.shape[2] - start)))
        for row in inside:
            cache[:, :, start + row] = new[:, :, row]

    return put


def of(change: Callable[[Tensor], Tensor], put: Write = write) -> Write:
    """Write something else than the new rows."""
    return lambda cache, length, new: put(cache, length, change(new))


def nothing(cache: Tensor, length: int, new: Tensor) -> None:
    """Do nothing."""
