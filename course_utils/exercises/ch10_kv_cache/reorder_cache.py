"""Exercise: let each row of a cache go on from the past of another, in place."""

from collections.abc import Callable
from typing import Any

import torch
from course_utils.attention import reorder_cache
from course_utils.checking.exercise import case, exercise
from course_utils.checking.inputs import Make
from course_utils.checking.mistakes import mistake
from course_utils.checking.recipe import Function
from course_utils.exercises.shared.caches import slots, tokens_first
from torch import Tensor

# `keys` and `values` are what the rows are read from, `new_keys` and `new_values` what is written.
RIGHT = """
def reorder_cache(cache_key, cache_value, length, beams):
    rows = beams
    stop = length
    keys = cache_key[:, :, :stop]
    values = cache_value[:, :, :stop]
    new_keys = keys[rows].clone()
    new_values = values[rows].clone()
    keys[:] = new_keys
    values[:] = new_values
    return None
"""


def one_by_one(old: Tensor, beams: Tensor, last_first: bool = False) -> Tensor:
    """Return what rows hold that are copied one after the other inside one tensor."""
    rows = old.clone()
    for n in reversed(range(len(beams))) if last_first else range(len(beams)):
        rows[n] = rows[beams[n]]
    return rows


def sent_one_by_one(old: Tensor, beams: Tensor) -> Tensor:
    """Return what rows hold that are sent one after the other inside one tensor."""
    rows = old.clone()
    for n in range(len(beams)):
        rows[beams[n]] = rows[n]
    return rows


def heads_reordered(old: Tensor, beams: Tensor) -> Tensor:
    """Return the heads of the rows in the order of the beams, or the first one where that is impossible."""
    heads = old.shape[1]
    return old[:, beams % heads] if len(beams) == heads else old[:, :1].expand_as(old).clone()


def exchanged(beams: Tensor) -> Tensor:
    """Return where rows come from if they are exchanged one after the other."""
    rows = list(range(len(beams)))
    for n, beam in enumerate(beams.tolist()):
        rows[n], rows[beam] = rows[beam], rows[n]
    return torch.tensor(rows)


def _values(lines: str) -> str:
    return lines.replace("key", "value")


def _both(lines: str) -> str:
    """Return lines that speak of the keys, and the same for the values."""
    return f"{lines}\n{_values(lines)}"


def _made(
    beams: tuple[int, ...],
    length: int,
    num_slots: int = 9,
    sizes: tuple[int, int] = (3, 4),
    dtype: torch.dtype = torch.float64,
    free: float | None = None,
    spoilt: float | None = None,
    lay: Callable[[Tensor], Tensor] = lambda tensor: tensor,
) -> Make:
    """Make a cache of (H, d) with a row for each beam and `length` of its slots filled.

    `free` stands in all free slots, `spoilt` in those of one row.
    """
    heads, width = sizes

    def make(g: torch.Generator) -> tuple[Any, ...]:
        caches = slots(g, (len(beams), heads, num_slots, width), length, free, dtype=dtype)
        if spoilt is not None:
            for tensor in caches:
                tensor[beams[0], :, length:] = spoilt
        return (*map(lay, caches), length, torch.tensor(beams))

    return make


def _one_layer(tensor: Tensor) -> Tensor:
    """Let the cache be one layer of a larger one, so that its rows are far apart in memory."""
    return torch.stack([tensor, tensor + 1], dim=1)[:, 0]


def _reorder(fn: Function, key: Tensor, value: Tensor, length: int, beams: Tensor) -> Any:
    """Call it on copies that keep their layout; return what they hold, and the beams."""
    key, value, beams = (torch.empty_like(x).copy_(x) for x in (key, value, beams))
    fn(key, value, length, beams)
    return key, value, beams


def _twice(fn: Function, key: Tensor, value: Tensor, length: int, beams: Tensor) -> Any:
    """Take two steps of a search, the second with another order."""
    key, value, beams = key.clone(), value.clone(), beams.clone()
    fn(key, value, length, beams)
    fn(key, value, length + 1, beams.flip(0))
    return key, value, beams


_WHOLE = "keys = cache_key\nvalues = cache_value"

EXERCISE = exercise(
    reorder_cache,
    right=RIGHT,
    asks="Let row n hold, in its first `length` slots, what row beams[n] held before; in place.",
    minutes=15,
    difficulty=3,
    importance=3,
    parts=("cache_key afterwards", "cache_value afterwards", "beams afterwards"),
    cases=(
        # As many heads and tokens as beams: whoever moves those fails here, and not in an index.
        case("4 beams, two of them from row 1", _made((1, 0, 1, 3), 4, sizes=(4, 3)), run=_reorder),
        case("the same with 5 tokens and 3 heads", _made((1, 0, 1, 3), 5), run=_reorder),
        case("two rows that change places", _made((1, 0), 4), run=_reorder),
        case("all rows go on from the last", _made((2, 2, 2), 3), run=_reorder),
        case("rows in a circle", _made((3, 0, 1, 2), 6), run=_reorder),
        case("a circle the other way", _made((1, 2, 3, 0), 6), run=_reorder),
        case("every row from itself", _made((0, 1, 2), 5), run=_reorder),
        case("4 rows, 4 heads, 4 slots, width 4", _made((2, 0, 3, 2), 4, 4, (4, 4)), run=_reorder),
        case("free slots that hold other numbers", _made((2, 0, 1), 2, 7), run=_reorder),
        case("free slots that hold NaN", _made((1, 2, 0), 4, 6, free=torch.nan), run=_reorder),
        case("one row whose free slots hold NaN", _made((2, 0, 1), 3, 6, spoilt=torch.nan), run=_reorder),
        case("one row whose free slots are infinite", _made((1, 2, 1), 4, 6, spoilt=torch.inf), run=_reorder),
        case("a full cache", _made((1, 2, 0), 6, 6), run=_reorder),
        case("an empty cache", _made((1, 0, 0), 0, 5), run=_reorder),
        case("one token", _made((2, 1, 1), 1, 5), run=_reorder),
        case("a single row", _made((0,), 3, 5), run=_reorder),
        case("one of everything", _made((0,), 1, 1, (1, 1)), run=_reorder),
        case("6 rows, 2 heads, width 5", _made((5, 3, 3, 0, 1, 5), 7, 8, (2, 5)), run=_reorder),
        case("non-contiguous tensors", _made((2, 0, 0), 4, lay=tokens_first), run=_reorder),
        case("one layer of a larger cache", _made((1, 2, 1), 4, lay=_one_layer), run=_reorder),
        case("two steps", _made((1, 3, 0, 1), 4), run=_twice),
        case("float32", _made((1, 1, 0), 4, dtype=torch.float32), run=_reorder),
        case("bfloat16", _made((2, 0, 2), 3, 7, (2, 6), torch.bfloat16), run=_reorder),
    ),
    mistakes=(
        mistake("rows overwritten before they are read", "A row was copied from one that had been overwritten "
                "already. What must be read before the first row is written?",
                _both("new_keys = one_by_one(keys, rows)"),
                _both("new_keys = one_by_one(keys, rows, last_first=True)"),
                "new_keys = one_by_one(keys, rows)", "new_values = one_by_one(values, rows)"),
        mistake("new tensors, and the cache as it was", "The cache is as it was. Was a new tensor made, or a name "
                "inside the function given to one? Which statement writes into memory that exists?",
                "keys = cache_key[:, :, :stop].clone()\nvalues = cache_value[:, :, :stop].clone()"),
        mistake("written into a copy of the cache", "The cache was not changed here: `contiguous` and `reshape` copy a "
                "tensor that is not contiguous in memory, and the copy was written to.",
                _both("keys = cache_key.contiguous()[:, :, :stop]"),
                _both("keys = cache_key.flatten(0, 1).unflatten(0, cache_key.shape[:2])[:, :, :stop]")),
        mistake("scattered instead of gathered", "Row n was sent *to* row beams[n]. `beams[n]` says where row n comes "
                "*from*: on which side of the assignment is it?",
                _both("new_keys = torch.index_copy(keys, 0, rows, keys)"),
                _both("new_keys = keys[rows.argsort()]"),
                _both("new_keys = torch.zeros_like(keys).index_copy(0, rows, keys)"),
                _both("new_keys = torch.zeros_like(keys).index_add(0, rows, keys)")),
        mistake("sent on while rows are still read", "Row n was sent to row beams[n], and rows that were written "
                "already were sent on. `beams[n]` says where row n comes *from*; and what must be read before the "
                "first row is written?", _both("new_keys = sent_one_by_one(keys, rows)")),
        mistake("free slots multiplied", "A free slot of one row spoilt another row: NaN or infinity times 0 is NaN. "
                "What leaves a slot alone, whatever it holds?",
                _both("new_keys = keys[rows]\n"
                      "slot = (torch.arange(cache_key.shape[2]) < stop)[:, None].to(cache_key.dtype)\n"
                      "cache_key.copy_(cache_key[rows] * slot + cache_key * (1 - slot))\nnew_keys = keys.clone()")),
        mistake("only one of keys and values", "The keys go on from one past and the values from another. What must "
                "happen to both?", "values[:] = values", "keys[:] = keys"),
        mistake("keys and values exchanged", "Among the keys there are values, or the other way round. Which tensor "
                "goes where?", "new_keys = values[rows].clone()\nnew_values = keys[rows].clone()",
                "new_values = keys[rows].clone()", "new_keys = values[rows].clone()",
                "new_values = new_keys[rows].clone()", "new_values = new_keys"),
        mistake("the whole buffer", "Slots past the filled ones were written too. They hold no token, and copying them "
                "at every step is wasted work. Where does the text end?", _WHOLE,
                "keys = cache_key", "values = cache_value", "stop = length or cache_key.shape[2]"),
        mistake("one token too few, or too many", "The last token or the first was left where it was, or one too many "
                "was moved. Which slots are filled?", "stop = max(length - 1, 0)", "stop = length - 1",
                "stop = length + 1", _both("keys = cache_key[:, :, 1:stop]")),
        mistake("only one token", "One token alone was moved. A beam goes on from the whole past of another: "
                "how many slots does that fill?",
                _both("keys = cache_key[:, :, max(length - 1, 0) : length]"),
                _both("keys = cache_key[:, :, : min(length, 1)]"),
                _both("keys = cache_key[:, :, length : length + 1]")),
        mistake("the last slots of the memory", "The last slots of the memory were moved instead of the first. Where "
                "are the filled ones, and what is a slice from -0?", _both("keys = cache_key[:, :, -stop:]"),
                _both("keys = cache_key[:, :, cache_key.shape[2] - stop :]")),
        mistake("the free slots instead of the filled", "The slots after the text were moved, and the text was not. "
                "On which side of `length` are the tokens?", _both("keys = cache_key[:, :, length:]")),
        mistake("free slots wiped", "The free slots were emptied. Only the first `length` are this call's. Which line "
                "writes past them?",
                "cache_key[:, :, length:] = 0\ncache_value[:, :, length:] = 0\nkeys[:] = new_keys",
                "cache_key[:, :, length:] = 0\nkeys[:] = new_keys",
                "cache_value[:, :, length:] = 0\nkeys[:] = new_keys"),
        mistake("heads or tokens reordered", "Another axis than that of the rows was reordered. Which one counts the "
                "beams?", _both("new_keys = heads_reordered(keys, rows)"),
                _both("new_keys = keys[:, :, rows % stop] if stop == len(rows) else keys.flip(2)"),
                _both("new_keys = keys[:, rows]"), _both("new_keys = keys[:, :, rows]"),
                _both("keys = cache_key[:, :, : len(rows)]\nnew_keys = cache_key[:, :, rows % max(stop, 1)]")),
        mistake("beams not used", "The rows were moved by a rule that knows nothing of `beams`: on to the next, or in "
                "reverse. Which row does row n go on from?", "rows = torch.arange(len(beams)).roll(1)",
                "rows = torch.arange(len(beams)).roll(-1)", "rows = torch.arange(len(beams)).flip(0)"),
        mistake("only some of the rows", "Some rows were left as they were. Every row goes on from the one that its "
                "beam names: where do your rows begin and end?",
                _both("new_keys = torch.cat([keys[rows[:1]], keys[1:]])"),
                _both("new_keys = torch.cat([keys[rows[:-1]], keys[-1:]])"),
                _both("new_keys = torch.cat([keys[:1], keys[rows[1:]]])")),
        mistake("only one head", "One head was reordered, the others were not. Every head of a row goes along: "
                "which axes does a row have?",
                _both("new_keys = torch.cat([keys[rows, :1], keys[:, 1:]], 1)")),
        mistake("one beam for all rows", "All rows go on from the same one. Which entry of `beams` belongs to row n?",
                "rows = beams[:1].expand_as(beams)", "rows = beams[-1:].expand_as(beams)"),
        mistake("the rows sorted, or each taken once", "The rows came in another order than that of `beams`, or a "
                "row that several beams name was used once. What belongs in row n, and how often may one row be read?",
                "rows = beams.sort().values", "rows = beams.flip(0)",
                _both("new_keys = torch.cat([keys[rows.unique()], keys[len(rows.unique()) :]])")),
        mistake("positions counted from one", "The rows are the neighbours of those named. What is the index of the "
                "first row?",
                "rows = (beams - 1) % len(beams)", "rows = (beams + 1) % len(beams)"),
        mistake("the order applied twice", "Each beam was looked up twice, so a row holds what the row of its row "
                "held. How often is `beams` needed as an index?",
                "rows = beams[beams]"),
        mistake("swapped instead of copied", "Rows were exchanged. A row that two beams name must be in both "
                "places, and one that none names is gone. Does an exchange give that?",
                "rows = exchanged(beams)"),
        mistake("added to what was there", "The rows were added to what was there, or mixed with it. What may be "
                "left of a row's own past?",
                _both("new_keys = keys + keys[rows]"), _both("new_keys = (keys + keys[rows]) / 2")),
        mistake("beams changed", "`beams` is not as it was. The tokens and scores of the search are reordered with it "
                "as well. Which line writes into it?", "beams.zero_()\nreturn None",
                "beams.copy_(torch.arange(len(beams)))\nreturn None", "beams.copy_(beams.sort().values)\nreturn None",
                "beams.copy_(beams[beams])\nreturn None"),
    ),
    hints=(
        "Two rows change places: beams is [1, 0]. Copy row 1 to row 0, then row 0 to row 1. What do both hold?",
        "Indexing with a tensor, `cache_key[beams]`, reads all rows into new memory before anything is written.",
        "A slice on the left of `=` writes into memory that exists; only the first `length` slots may be written.",
        "Do the same to keys and values: rows `beams`, slots up to `length`, from the right side of `=` to the left.",
    ),
)
