"""Exercise: write new keys and values into memory that was taken in advance."""

from collections.abc import Callable
from typing import Any

import torch
from course_utils.attention import append_kv
from course_utils.checking.exercise import Cost, case, exercise
from course_utils.checking.inputs import Make, normal
from course_utils.checking.mistakes import mistake
from course_utils.checking.recipe import Function
from course_utils.exercises.shared.caches import slots, tokens_first
from course_utils.exercises.shared.refusals import fitting
from course_utils.measure import largest_tensor
from torch import Tensor

# `keys` and `values` are parts of the caches themselves, so that what is written there is written to the caches.
RIGHT = """
def append_kv(cache_key, cache_value, length, key, value):
    new = key.shape[2]
    slots = cache_key.shape[2]
    end = length + new
    is_full = end > slots
    if is_full:
        raise ValueError("the cache is full")
    start = length
    stop = start + new
    keys = cache_key[:, :, start:stop]
    values = cache_value[:, :, start:stop]
    keys[:] = key
    values[:] = value
    return end
"""


def _both(lines: str) -> str:
    """Return lines that speak of the keys, and the same for the values."""
    return f"{lines}\n{_values(lines)}"


def _values(lines: str) -> str:
    return lines.replace("key", "value")


_WHAT_FITS = _both("keys[:] = key[:, :, : slots - length]")
_LAST, _FIRST = (_both(f"keys[:] = key[:, :, {which}]") for which in ("-1:", ":1"))
_ONE_SLOT = "stop = start + 1"
_ROW = _both("keys = cache_key[:, :, start]")
_ONE_HEAD = "keys = cache_key[:, :1, start:stop]\nkeys[:] = key[:, :1]"
_ONE_SEQUENCE = "keys = cache_key[:1, :, start:stop]\nkeys[:] = key[:1]"
_WIPED = "keys = cache_key[:, :, start:]\nkeys[:] = F.pad(key, (0, 0, 0, slots - end))"
_WRAPPED = "is_full = False\nplace = torch.arange(length, end) % slots\n" + _both(
    "keys = cache_key\nkeys[:] = cache_key.index_copy(2, place, key)"
)
_COMPLAINING = 'if end > slots:\n    raise ValueError("the cache is full")\n'
_RETURNED = 'if end > slots:\n    return {}\nis_full = False'


def _made(
    length: int,
    new: int,
    num_slots: int = 9,
    sizes: tuple[int, int, int] = (2, 3, 4),
    dtype: torch.dtype = torch.float64,
    free: float | None = None,
    lay: Callable[[Tensor], Tensor] = lambda tensor: tensor,
) -> Make:
    """Make a cache of (B, H, d) with `length` of its slots filled, and new rows."""
    batch, heads, width = sizes

    def make(g: torch.Generator) -> tuple[Any, ...]:
        caches = slots(g, (batch, heads, num_slots, width), length, free, dtype=dtype)
        fresh = [normal(g, batch, heads, new, width, dtype=dtype) for _ in range(2)]
        return (*map(lay, caches), length, *map(lay, fresh))

    return make


def _append(fn: Function, key: Tensor, value: Tensor, *rest: Any) -> Any:
    """Call it on copies, so that what it writes can be looked at."""
    key, value = key.clone(), value.clone()
    return fitting(fn, key, value, *rest), key, value


def _append_thrice(fn: Function, key: Tensor, value: Tensor, length: int, *new: Tensor) -> Any:
    key, value = key.clone(), value.clone()
    for size in (3, 1, 2):
        length = fitting(fn, key, value, length, *(x[:, :, :size] + size for x in new))
    return length, key, value


def _overflow(fn: Function, key: Tensor, value: Tensor, *rest: Any) -> Any:
    """Return which error came, if any, instead of a length."""
    key, value = key.clone(), value.clone()
    try:
        fn(key, value, *rest)
    except ValueError:
        return "ValueError", key, value
    except Exception as error:
        return type(error).__name__, key, value
    return "no error", key, value


def _another_error(args: tuple[Any, ...], got: tuple[Any, ...]) -> bool:
    cache_key, cache_value, length, key, _ = args
    kept = all(torch.equal(*pair) for pair in zip(got[1:], (cache_key, cache_value), strict=True))
    full = length + key.shape[2] > cache_key.shape[2]
    return full and kept and got[0] not in ("ValueError", "no error")


def _largest(fn: Function, *args: Any) -> int:
    """Count the largest tensor; one as large as the new keys is free."""
    return max(largest_tensor(fn, *args), int(args[3].numel()))


_COPIED_SAYS = (
    "The values are right, but the whole cache was copied to add a few rows. Avoiding that is why the memory was "
    "allocated in advance: which slots are new?"
)

EXERCISE = exercise(
    append_kv,
    right=RIGHT,
    asks="Write new keys and values after the first `length` slots of a cache; return the new length.",
    minutes=10,
    difficulty=2,
    importance=5,
    parts=("the result", "cache_key afterwards", "cache_value afterwards"),
    cases=(
        # No other axis is shorter than what is filled: room sought there shows only where it is refused.
        case("2 tokens after 3, in 9 slots", _made(3, 2, sizes=(2, 6, 8)), run=_append),
        case("one token after 5", _made(5, 1, sizes=(2, 6, 8)), run=_append),
        case("a prompt of 5 into an empty cache", _made(0, 5, sizes=(3, 5, 6)), run=_append),
        case("the last free slot", _made(8, 1), run=_overflow),
        case("3 tokens for the last 3 slots", _made(6, 3, sizes=(2, 5, 3)), run=_overflow),
        case("4 tokens after 4, and every size is 4", _made(4, 4, 12, (4, 4, 4)), run=_append),
        case("a prompt as long as the cache", _made(0, 7, 7), run=_append),
        case("one of everything", _made(0, 1, 1, (1, 1, 1)), run=_append),
        case("free slots that hold NaN", _made(2, 3, free=torch.nan), run=_append),
        case("non-contiguous tensors", _made(4, 3, lay=tokens_first), run=_append),
        case("float32", _made(4, 2, 11, (3, 2, 5), torch.float32), run=_append),
        case("bfloat16", _made(1, 4, 8, (3, 5, 2), torch.bfloat16), run=_append),
        case("three calls, 3, 1 and 2 tokens", _made(2, 3, 10), run=_append_thrice),
        case("one token into a full cache", _made(9, 1), run=_overflow),
        case("3 tokens for 2 free slots", _made(7, 3), run=_overflow),
        case("4 tokens for 3 free slots, and other sizes are 4 too", _made(5, 4, 8, (4, 4, 4)), run=_overflow),
        case("a prompt longer than the cache", _made(0, 6, 5), run=_overflow),
    ),
    mistakes=(
        mistake("written at the start of the cache", "The new keys are in the first slots, over the oldest tokens. "
                "Which slots are free?", "start = 0", "values = cache_value[:, :, :new]",
                "keys = cache_key[:, :, :new]"),
        mistake("one slot too far, or too near", "The new keys are one slot away from where they belong: a slot is "
                "left out or an old token is lost. With `length` tokens in the slots 0 to `length - 1`, which is the "
                "next?", "start = length + 1", "start = length - 1", "start = max(length - 1, 0)"),
        mistake("written at the end of the cache", "The new keys are in the last slots of the memory, with a gap "
                "between them and the tokens before. Where does the next token belong while the cache is half full?",
                "start = slots - new"),
        mistake("placed behind as many slots as there are new tokens", "The place depends on how many tokens are new. "
                "It should depend on how many there are already.",
                "start = new", "start = length * new", "start = length + new", "start = length - new"),
        mistake("everything shifted to make room", "All old tokens moved and the new ones are at the very end, or at "
                "the very beginning. No old key needs to move: what does `length` say?",
                _both("keys = cache_key\nkeys[:] = torch.cat([cache_key, key], 2)[:, :, -slots:]"),
                _both("keys = cache_key[:, :, :end]\nkeys[:] = torch.cat([key, cache_key[:, :, :length]], 2)")),
        mistake("only one of several new tokens kept", "Of several new tokens a single one was kept, or one was lost. "
                "A prompt comes at once: how many slots does it take?",
                f"{_ONE_SLOT}\n{_LAST}", f"{_ONE_SLOT}\n{_FIRST}", f"{_ONE_SLOT}\n{_LAST}\nreturn length + 1",
                f"{_ONE_SLOT}\n{_FIRST}\nreturn length + 1", _LAST, _FIRST,
                "stop = start + new - 1\n" + _both("keys[:] = key[:, :, :-1]"),
                "stop = start + new - 1\n" + _both("keys[:] = key[:, :, 1:]"),
                _both("keys[:] = key.mean(2, keepdim=True)")),
        mistake("room for one token in the slice", "The part of the cache that is written to has room for one token, "
                "and torch cannot fit several into it. A prompt comes at once: how many slots does it take?",
                _ONE_SLOT, f"{_ONE_SLOT}\nreturn length + 1", _ROW, f"{_ROW}\nreturn length + 1"),
        mistake("new tokens in another order", "The new tokens are in the cache in another order than they came in. "
                "Slot and position count in the same direction.", _both("keys[:] = key.flip(2)"),
                _both("keys[:] = key.roll(1, 2)"), "values[:] = value.flip(2)", "values[:] = value.roll(1, 2)"),
        mistake("a cache without heads", "Every head holds the same keys, or one head alone was written. Each head "
                "projects a token in its own way: how many keys does a token have?",
                _both("keys[:] = key.mean(1, keepdim=True)"), _both("keys[:] = key[:, :1]"),
                _both("keys[:] = key.sum(1, keepdim=True)"), _both(_ONE_HEAD), _ONE_HEAD, _values(_ONE_HEAD)),
        mistake("only one sequence of the batch written", "The sequences of the batch do not hold their own keys. What "
                "does the first axis count?", _both(_ONE_SEQUENCE), _ONE_SEQUENCE, _both("keys[:] = key[:1]"),
                _both("keys[:] = key.mean(0, keepdim=True)")),
        mistake("values forgotten", "One of the two tables was never written. What does attention read besides the "
                "keys?", "values[:] = values", "keys[:] = keys"),
        mistake("keys and values exchanged", "Among the keys there are values, or the other way round. Which tensor "
                "goes where?", "keys[:] = value\nvalues[:] = key", "values[:] = key", "keys[:] = value"),
        mistake("a new tensor, and the cache as it was", "The cache was not changed: `torch.cat` and `clone` make a "
                "new tensor, and giving it an old name inside the function changes nothing outside. Which statement "
                "writes into memory that exists?", _both("keys = cache_key[:, :, start:stop].clone()")),
        mistake("written into a copy of the cache", "The cache was not changed here: `contiguous` and `reshape` copy a "
                "tensor that is not contiguous in memory, and the copy was written to.",
                _both("keys = cache_key.contiguous()[:, :, start:stop]")),
        mistake("added to what was there", "The new keys were added to what the free slots held. A free slot may hold "
                "anything.", _both("keys[:] = keys + key")),
        mistake("free slots wiped", "Slots after the new tokens were written as well. This call may write only the new "
                "ones.", _both(_WIPED), _WIPED, _values(_WIPED)),
        mistake("earlier tokens wiped", "What the cache held before is gone. Which slots may this call write to?",
                _both("keys = cache_key\nkeys[:] = F.pad(key, (0, 0, start, slots - end))")),
        mistake("an overflow wraps round", "The tokens that did not fit were written over the oldest ones. A cache "
                "that forgets is something else: here a ValueError must say that there is no room.",
                _WRAPPED, f"{_WRAPPED}\nreturn end % slots"),
        mistake("an overflow drops what does not fit", "The cache was too small and no error came: what did not fit is "
                "lost, and the caller will not know. Which error is asked for?",
                f"is_full = False\n{_WHAT_FITS}", f"is_full = False\n{_WHAT_FITS}\nreturn min(end, slots)",
                *map(_RETURNED.format, ("length", "None", "-1", "False", "slots"))),
        mistake("the error returned", "The function returns an error instead of raising it, and the caller goes on "
                "as if all were well. Which keyword ends a function with an error?",
                _RETURNED.format('ValueError("the cache is full")')),
        mistake("an overflow drops the oldest", "In a full cache the oldest tokens were pushed out. That changes what "
                "every later token sees: here a ValueError must say that there is no room.",
                "is_full = False\nover = max(0, end - slots)\n" + _both(
                    "keys = cache_key[:, :, :end]\n"
                    "keys[:] = torch.cat([cache_key[:, :, :length], key], 2)[:, :, over:]")),
        mistake("an overflow overwrites the last slots", "In a full cache the new tokens took the slots of the last "
                "ones. A ValueError must say that there is no room, and leave the cache alone.",
                "is_full = False\nstart = min(length, slots - new)"),
        mistake("no check for room", "Nothing is checked: one token for a full cache is lost without a word, and "
                "several end in torch's own complaint about shapes. What must be known before anything is written?",
                "is_full = False"),
        mistake("another error than ValueError", "A cache that is too small ends in another error than a ValueError, "
                "and that is the one for which a caller waits. Where does yours come from?",
                'if end > slots:\n    raise IndexError("the cache is full")\nis_full = False', matches=_another_error),
        mistake("an exact fill refused", "The new tokens fill the cache to the last slot and were refused. When is it "
                "too small?", "is_full = end >= slots"),
        mistake("only a full cache noticed", "It is noticed that no slot is free, but not that there are fewer than "
                "the new tokens need. Which number must not exceed the number of slots?",
                f"is_full = length >= slots\n{_WHAT_FITS}", "is_full = length >= slots"),
        mistake("only the new tokens compared with the room", "The new tokens alone were compared with the number of "
                "slots. Some of the slots are taken: what else needs room?",
                f"is_full = new > slots\n{_WHAT_FITS}", "is_full = new > slots"),
        mistake("room sought on another axis", "The tokens were compared with the size of another axis than that of "
                "the slots. Of (B, H, S_max, d), which one says how many there are?",
                "slots = cache_key.shape[1]", "slots = cache_key.shape[-1]", "slots = len(cache_key)"),
        mistake("checked after writing", "The error came, but the cache was changed already. What must be known before "
                "the first number is written?", f"is_full = False\n{_WHAT_FITS}\n{_COMPLAINING}return end",
                f"is_full = False\nkeys[:] = key[:, :, : slots - length]\n{_COMPLAINING}values[:] = value"),
        mistake("the old length returned", "The length came back as it was given. How many slots are filled now?",
                "return length"),
        mistake("one token counted for many", "The length grew by one, whatever was written. How many tokens are new?",
                "return length + 1"),
        mistake("only the new tokens counted", "What came back is the number of new tokens, of free slots or of all "
                "slots. Return how many slots are filled now.",
                "return new", "return slots - end", "return slots"),
        mistake("another axis counted", "The length grew by the size of another axis than that of the tokens. Of (B, "
                "H, T, d), which axis says how many are new?",
                "return length + key.shape[1]", "return length + len(key)", "return length + key.shape[-1]",
                "return length + len(key) * new", "return length + key.numel()"),
        mistake("the last position instead of the length", "The number is off by one: the last position is one less "
                "than how many there are.", "return end - 1", "return end + 1"),
        mistake("nothing returned", "The cache is right, but nothing came back. The caller's `length` is a plain "
                "number: how does the caller learn that the cache grew?", "return None"),
        mistake("the length in another type", "The length came as a tensor, a float, or together with the cache. "
                "Return a Python `int` alone: the cache has already been changed in place.",
                "return torch.tensor(end)", "return float(end)", "return (end,)", "return cache_key",
                "return cache_key, cache_value", "return cache_key, cache_value, end",
                "return end, cache_key, cache_value", "return str(end)",
                "return cache_key[:, :, :end]"),
        mistake("the whole cache written again", _COPIED_SAYS,
                _both("keys = cache_key\n"
                      "keys[:] = torch.cat([cache_key[:, :, :start], key, cache_key[:, :, stop:]], 2)")),
    ),
    costs=(
        Cost("the largest tensor", _largest, (64, 512), lambda n, g: _made(5, 2, n, (2, 4, 64))(g), 0.3, _COPIED_SAYS,
             "the whole cache written again"),
    ),
    hints=(
        "With 3 tokens in a cache of 9 slots, write down the numbers of the slots that 2 new tokens take. What is the "
        "length then?",
        "A slice on the left of `=` writes into memory that exists. The slots are the third axis.",
        "An error must come before the first number is written, or half of the tokens stay behind. Compare the new "
        "length with the number of slots first.",
        "With `end = length + T`, the slots are `length` up to `end`, in both caches; `end` is also what comes back. "
        "`end` may equal the number of slots.",
    ),
)
