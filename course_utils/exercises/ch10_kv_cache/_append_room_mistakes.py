"""What goes wrong when new keys do not fit into a cache."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from course_utils.checking.exercise import Misconception
from course_utils.exercises.ch10_kv_cache._append_wrong import (
    Write,
    at,
    build,
    nothing,
    refuse,
    write,
)


def _error(kind: type[Exception]) -> Write:
    def check(cache: Tensor, length: int, new: Tensor) -> None:
        if length + new.shape[2] > cache.shape[2]:
            raise kind("the cache is full")

    return check


def _rule(full: Callable[[int, int, int], bool]) -> Write:
    def check(cache: Tensor, length: int, new: Tensor) -> None:
        if full(length, new.shape[2], cache.shape[2]):
            raise ValueError("the cache is full")

    return check


def _as_told(value: Any) -> Any:
    def wrong(ck: Tensor, cv: Tensor, length: int, key: Tensor, val: Tensor) -> Any:
        if length + key.shape[2] > ck.shape[2]:
            return length if value == "length" else value
        return build()(ck, cv, length, key, val)

    return wrong


def _late(part: Callable[[int, int], int]) -> Any:
    """Write as many rows as fit, and complain only then."""

    def wrong(ck: Tensor, cv: Tensor, length: int, key: Tensor, value: Tensor) -> Any:
        room = part(ck.shape[2] - length, key.shape[2])
        fitting = build(check=nothing)(ck, cv, length, key[:, :, :room], value[:, :, :room])
        refuse(ck, length, key)
        return fitting

    return wrong


def _keys_before_check(ck: Tensor, cv: Tensor, length: int, key: Tensor, value: Tensor) -> Any:
    room = ck.shape[2] - length
    write(ck, length, key[:, :, :room])
    refuse(cv, length, value)
    write(cv, length, value)
    return length + key.shape[2]


def _wrapped(cache: Tensor, length: int, new: Tensor) -> None:
    for row in range(new.shape[2]):
        cache[:, :, (length + row) % cache.shape[2]] = new[:, :, row]


def _evicting(cache: Tensor, length: int, new: Tensor) -> None:
    over = max(0, length + new.shape[2] - cache.shape[2])
    if over:
        cache.copy_(torch.cat([cache[:, :, :length], new], dim=2)[:, :, over:])
    else:
        write(cache, length, new)


def _clamped(length: int, new: Tensor, cache: Tensor) -> int:
    return min(length + new.shape[2], cache.shape[2])


def _modulo(length: int, new: Tensor, cache: Tensor) -> int:
    return (length + new.shape[2]) % cache.shape[2]


_BEHIND = at(lambda length, new, slots: length)

ROOM = (
    Misconception(
        "an overflow wraps round",
        build(_wrapped, check=nothing),
        "The tokens that did not fit were written over the oldest ones. A cache that forgets is "
        "another thing: here a ValueError must say that there is no room.",
        also=(
            build(_wrapped, check=nothing, result=_modulo),
            build(_wrapped, check=nothing, result=_clamped),
        ),
    ),
    Misconception(
        "an overflow drops what does not fit",
        build(_BEHIND, check=nothing, result=_clamped),
        "The cache was too small and nothing was said: what did not fit is lost, and nobody will "
        "know. Which error is asked for?",
        also=(
            build(_BEHIND, check=nothing),
            build(_BEHIND, check=_rule(lambda length, new, slots: length + new > slots + 1)),
            _as_told("length"),
            _as_told(-1),
            _as_told(None),
            _as_told(False),
        ),
    ),
    Misconception(
        "an overflow drops the oldest",
        build(_evicting, check=nothing),
        "In a full cache the oldest tokens were pushed out. That changes what every later token "
        "sees: here a ValueError must say that there is no room.",
        also=(build(_evicting, check=nothing, result=_clamped),),
    ),
    Misconception(
        "an overflow overwrites the last slots",
        build(at(lambda length, new, slots: min(length, slots - new)), check=nothing),
        "In a full cache the new tokens took the slots of the last ones. A ValueError must say "
        "that there is no room, and leave the cache alone.",
        also=(
            build(
                at(lambda length, new, slots: min(length, slots - new)),
                check=nothing,
                result=_clamped,
            ),
        ),
    ),
    Misconception(
        "another error than ValueError",
        build(check=nothing),
        "A full cache ends in another error than a ValueError: torch's own complaint about shapes, "
        "or an assertion. Who calls this wants to know that there is no room: what must be asked "
        "before anything is written?",
        also=tuple(
            build(check=_error(kind))
            for kind in (IndexError, RuntimeError, AssertionError, Exception, OverflowError)
        ),
    ),
    Misconception(
        "an exact fill refused",
        build(check=_rule(lambda length, new, slots: length + new >= slots)),
        "The new tokens fill the cache to the last slot and were refused. When is it too small?",
        also=(build(check=_rule(lambda length, new, slots: length + new > slots - 1)),),
    ),
    Misconception(
        "only a full cache noticed",
        build(_BEHIND, check=_rule(lambda length, new, slots: length >= slots)),
        "It is noticed that no slot is free, but not that there are fewer than the new tokens "
        "need. Which number must not exceed the number of slots?",
        also=(
            build(check=_rule(lambda length, new, slots: length >= slots)),
            build(_BEHIND, check=_rule(lambda length, new, slots: length + 1 > slots)),
            build(_BEHIND, check=_rule(lambda length, new, slots: new > slots)),
            build(check=_rule(lambda length, new, slots: new > slots)),
        ),
    ),
    Misconception(
        "checked after writing",
        _late(lambda room, new: min(room, new)),
        "The error came, but the cache was changed already. What must be known before the first "
        "number is written?",
        also=(_keys_before_check,),
    ),
)
