"""What goes wrong when new keys and values are written into a cache."""

import torch
from torch import Tensor

from course_utils.checking.exercise import Misconception
from course_utils.exercises.ch10_kv_cache._append_wrong import at, build, nothing, of, write


def _crossed(ck: Tensor, cv: Tensor, length: int, key: Tensor, value: Tensor) -> int:
    return int(build()(ck, cv, length, value, key))


def _keys_twice(ck: Tensor, cv: Tensor, length: int, key: Tensor, value: Tensor) -> int:
    return int(build()(ck, cv, length, key, key))


def _values_twice(ck: Tensor, cv: Tensor, length: int, key: Tensor, value: Tensor) -> int:
    return int(build()(ck, cv, length, value, value))


def _each_row_at_length(cache: Tensor, length: int, new: Tensor) -> None:
    for row in range(new.shape[2]):
        cache[:, :, length] = new[:, :, row]


def _wiped_after(cache: Tensor, length: int, new: Tensor) -> None:
    write(cache, length, new)
    cache[:, :, length + new.shape[2] :] = 0.0


def _wiped_before(cache: Tensor, length: int, new: Tensor) -> None:
    cache.zero_()
    write(cache, length, new)


def _added(cache: Tensor, length: int, new: Tensor) -> None:
    cache[:, :, length : length + new.shape[2]] += new


def _shifted(cache: Tensor, length: int, new: Tensor) -> None:
    rolled = torch.cat([cache, new], dim=2)[:, :, -cache.shape[2] :]
    cache.copy_(rolled)


def _in_front(cache: Tensor, length: int, new: Tensor) -> None:
    end = length + new.shape[2]
    cache[:, :, :end] = torch.cat([new, cache[:, :, :length]], dim=2)


def _first_sequence(cache: Tensor, length: int, new: Tensor) -> None:
    cache[0, :, length : length + new.shape[2]] = new[0]


def _first_head(cache: Tensor, length: int, new: Tensor) -> None:
    cache[:, 0, length : length + new.shape[2]] = new[:, 0]


WRITES = (
    Misconception(
        "written at the start of the cache",
        build(at(lambda length, new, slots: 0)),
        "The new keys stand in the first slots, over the oldest tokens. Which slots are free?",
    ),
    Misconception(
        "one slot too far, or too near",
        build(at(lambda length, new, slots: length + 1)),
        "The new keys stand one slot beside where they belong: a slot is left out or an old token "
        "is lost. With `length` tokens in the slots 0 to `length - 1`, which is the next?",
        also=(
            build(at(lambda length, new, slots: length - 1)),
            build(at(lambda length, new, slots: max(length - 1, 0))),
        ),
    ),
    Misconception(
        "written at the end of the cache",
        build(at(lambda length, new, slots: slots - new)),
        "The new keys stand in the last slots of the memory, and a gap lies between them and the "
        "tokens before. Where does the next token belong while the cache is half full?",
    ),
    Misconception(
        "placed behind as many slots as there are new tokens",
        build(at(lambda length, new, slots: new)),
        "The place depends on how many tokens are new. It depends on how many there are already.",
        also=(
            build(at(lambda length, new, slots: length * new)),
            build(at(lambda length, new, slots: length + new)),
            build(at(lambda length, new, slots: length - new)),
        ),
    ),
    Misconception(
        "everything shifted to make room",
        build(_shifted),
        "All old tokens moved and the new ones stand at the very end. No old key needs to move: "
        "what does `length` tell?",
        also=(build(_in_front),),
    ),
    Misconception(
        "only one of several new tokens kept",
        build(of(lambda new: new[:, :, -1:])),
        "Of several new tokens a single one was kept. A prompt comes at once: how many slots does "
        "it take?",
        also=(
            build(of(lambda new: new[:, :, :1])),
            build(of(lambda new: new[:, :, -1:]), result=lambda length, new, cache: length + 1),
            build(of(lambda new: new[:, :, :1]), result=lambda length, new, cache: length + 1),
            build(of(lambda new: new[:, :, -1:], at(lambda length, new, slots: length))),
            build(_each_row_at_length),
            build(_each_row_at_length, result=lambda length, new, cache: length + 1),
            build(lambda c, n, new: write(c, n, new[:, :, -1:].expand_as(new))),
            build(lambda c, n, new: write(c, n, new[:, :, :1].expand_as(new))),
            build(lambda c, n, new: write(c, n, new[:, :, :-1])),
            build(lambda c, n, new: write(c, n, new[:, :, 1:])),
            build(lambda c, n, new: write(c, n, new.mean(2, keepdim=True).expand_as(new))),
        ),
    ),
    Misconception(
        "new tokens in another order",
        build(of(lambda new: new.flip(2))),
        "The new tokens stand in the cache in another order than they came in. Slot and position "
        "count in the same direction.",
        also=(
            build(of(lambda new: new.roll(1, 2))),
            build(values=of(lambda new: new.flip(2))),
            build(values=of(lambda new: new.roll(1, 2))),
        ),
    ),
    Misconception(
        "a cache without heads",
        build(of(lambda new: new.mean(1, keepdim=True).expand_as(new))),
        "Every head holds the same keys. Each head projects a token in its own way: how many keys "
        "of a token are there?",
        also=(
            build(of(lambda new: new[:, :1].expand_as(new))),
            build(of(lambda new: new.sum(1, keepdim=True).expand_as(new))),
            build(_first_head),
            build(_first_head, write),
            build(write, _first_head),
        ),
    ),
    Misconception(
        "only one sequence of the batch written",
        build(_first_sequence),
        "The sequences of the batch do not hold their own keys. What does the first axis count?",
        also=(
            build(_first_sequence, write),
            build(of(lambda new: new[:1].expand_as(new))),
            build(of(lambda new: new.mean(0, keepdim=True).expand_as(new))),
        ),
    ),
    Misconception(
        "values forgotten",
        build(values=nothing),
        "One of the two tables was never written. What does attention read besides the keys?",
        also=(build(nothing, write),),
    ),
    Misconception(
        "keys and values exchanged",
        _crossed,
        "What stands among the keys are values, or the other way round. Which tensor goes where?",
        also=(_keys_twice, _values_twice),
    ),
    Misconception(
        "a new tensor, and the cache as it was",
        build(nothing),
        "The cache was not changed: `torch.cat` and `clone` make a new tensor, and giving it an "
        "old name inside the function changes nothing outside. Which statement writes into memory "
        "that exists?",
    ),
    Misconception(
        "written into a copy of the cache",
        build(lambda cache, length, new: write(cache.contiguous(), length, new)),
        "The cache was not changed here: `contiguous` and `reshape` copy a tensor that does not "
        "lie in memory row by row, and the copy was written to.",
        also=(
            build(lambda c, n, new: write(c.reshape(-1).view(c.shape), n, new)),
            build(lambda c, n, new: write(c.flatten(0, 1).view(c.shape), n, new)),
        ),
    ),
    Misconception(
        "added to what was there",
        build(_added),
        "The new keys were added to what the free slots held. A free slot may hold anything.",
    ),
    Misconception(
        "free slots wiped",
        build(_wiped_after),
        "Slots behind the new tokens were written as well. Only the new ones are this call's.",
        also=(build(_wiped_after, write), build(write, _wiped_after)),
    ),
    Misconception(
        "earlier tokens wiped",
        build(_wiped_before),
        "What the cache held before is gone. Which slots may this call write to?",
    ),
)
