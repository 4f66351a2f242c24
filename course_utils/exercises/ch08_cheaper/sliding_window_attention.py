"""Exercise: a causal window that costs what it shows."""

from collections.abc import Iterator
from typing import Any

import torch
from course_utils.attention import sliding_window_attention, window_mask
from course_utils.checking.exercise import Cost, case, exercise
from course_utils.checking.inputs import Make, normal, strided
from course_utils.checking.mistakes import adding, mistake, only, saying, without
from course_utils.exercises.shared.heads import AMONG
from course_utils.exercises.shared.kinds import batch_mixed, cut_off, other_kinds, overwritten
from course_utils.exercises.shared.linear import work
from course_utils.exercises.shared.masking import EMPTY_ROWS, MASK
from course_utils.exercises.shared.masks import PAST
from course_utils.exercises.shared.precision import lower_precision
from course_utils.exercises.shared.scale import DEFAULT, GIVEN, another_scale, some_scale
from course_utils.exercises.shared.softmax import RANDOM, SOFTMAX, epsilon, some_epsilon
from course_utils.exercises.shared.values import COMPARED, VALUES, average_law
from course_utils.measure import largest_tensor
from torch import Tensor

# The runs are longer than the sequence of any case, so that the lines speak of the whole of it.
RIGHT = """
def sliding_window_attention(query, key, value, window):
    parts = []
    for query, key, value, i, j in runs(query, key, value, window):
        past = j <= i
        near = j > i - window
        allowed = past & near
        default = 1 / math.sqrt(query.shape[-1])
        factor = default
        products = query @ key.mT
        scaled = products * factor
        scores = scaled.masked_fill(~allowed, -torch.inf)
        weights = stable_softmax(scores)
        out = weights @ value
        parts.append(out)
    whole = torch.cat(parts, 2)
    return whole
"""

# Every key is seen by some query: the mask ignored.
_SOME = "some = allowed.expand(scaled.shape).any(-2, keepdim=True)\nscores = scaled.masked_fill(~some, -torch.inf)"


def runs(query: Tensor, key: Tensor, value: Tensor, window: int, size: int = 512) -> Iterator[tuple[Tensor, ...]]:
    """Yield the queries run by run, the keys and values that one of them may see, and the places of both."""
    for start in range(0, query.shape[2], size):
        stop, low = min(start + size, query.shape[2]), max(0, start - window + 1)
        places = torch.arange(start, stop).unsqueeze(-1), torch.arange(low, stop)
        yield query[:, :, start:stop], key[:, :, low:stop], value[:, :, low:stop], *places


def _in_runs(lines: str, *sizes: int | str) -> Iterator[str]:
    """Yield the lines for runs of each size; they speak of `size` and of `start`."""
    for size in sizes:
        yield f"size = {size}\nstart = i // size * size\n{lines}"


def _empty(*lines: str) -> tuple[str, ...]:
    """Return lines that leave queries without a key, with each of the usual softmaxes."""
    ends = ("", "\nweights = torch.softmax(scores, -1)", "\nscores = scaled.masked_fill(~allowed, -1e9)")
    return tuple(line + end for end in ends for line in lines)


def _made(*shape: int, window: int, size: float = 1.0, dtype: torch.dtype = torch.float64) -> Make:
    """Make query, key and value of one shape, and the window."""

    def make(g: torch.Generator) -> tuple[Any, ...]:
        query, key = (normal(g, *shape, size=size, dtype=dtype) for _ in range(2))
        return query, key, normal(g, *shape, dtype=dtype), window

    return make


def _with_zeros(g: torch.Generator) -> tuple[Any, ...]:
    """Make a key and a query of zeros: their scores are 0, as those of padding."""
    query, key, value, window = _made(2, 4, 7, 3, window=6)(g)
    query[:, :, 4], key[:, :, 2] = 0.0, 0.0
    return query, key, value, window


def _against_the_window(g: torch.Generator) -> tuple[Any, ...]:
    query, key, value, window = _made(2, 3, 7, 4, window=2)(g)
    high = torch.tensor([1.0, -1.0, -1.0, -1.0, -1.0, 1.0, -1.0], dtype=key.dtype)
    return query.abs() + 1.0, key + 1e4 * high.unsqueeze(-1), value, window


def _strided(g: torch.Generator) -> tuple[Any, ...]:
    query, key, value, window = _made(2, 9, 3, 5, window=4)(g)
    return query.transpose(1, 2), key.transpose(1, 2), strided(value.transpose(1, 2)), window


def _long(length: int, g: torch.Generator) -> tuple[Any, ...]:
    return _made(1, 1, length, 8, window=16, dtype=torch.float32)(g)


def _epsilon(args: tuple[Any, ...], got: Tensor) -> bool:
    query, key, _, window = args
    seen = window_mask(query.shape[2], query.shape[2], window)
    scores = (query @ key.mT / query.shape[-1] ** 0.5).masked_fill(~seen, -torch.inf)
    return some_epsilon(scores, sliding_window_attention(*args), got)


def _another_scale(args: tuple[Any, ...], got: Tensor) -> bool:
    query, key, value, window = args
    if got.shape != value.shape or min(window, query.shape[2]) < 2:
        return False
    wide = query * query.shape[-1] ** 0.5
    right = query.shape[-1] ** -0.5
    return some_scale(lambda scale: sliding_window_attention(scale * wide, key, value, window), got.detach(), right)


_DENSE_SAYS = (
    "The values are right, but the work or the largest tensor grows as L²: all pairs are computed, or all of the past, "
    "or a mask of that size is made, and nearly all of it is thrown away. A mask hides scores, it does not save them. "
    "Which keys does a run of neighbouring queries need at all?"
)
# So long that runs of 512 queries, too, are seen to grow no faster than the length.
_SIZES = (384, 1536)

EXERCISE = exercise(
    sliding_window_attention,
    right=RIGHT,
    asks="Attend to the last `window` keys, a query's own among them, at a cost linear in the length.",
    minutes=25,
    difficulty=4,
    importance=5,
    cases=(
        case("length 7, window 3", _made(2, 3, 7, 5, window=3), gradient="equal"),
        case("length 11, window 4", _made(3, 2, 11, 6, window=4)),
        case("length 6, window 2: whole blocks", _made(2, 3, 6, 4, window=2)),
        case("window 1: only its own key", _made(2, 3, 5, 4, window=1)),
        case("window 5 for length 5: plainly causal", _made(2, 3, 5, 4, window=5)),
        case("window 9 for length 5", _made(2, 4, 5, 3, window=9), gradient="equal"),
        case("window 6 for length 7, a key and a query of zeros", _with_zeros),
        case("every size is 4: a transpose keeps the shape", _made(4, 4, 4, 4, window=2)),
        case("length 1", _made(2, 3, 1, 4, window=3)),
        case("scores of thousands", _made(2, 3, 8, 9, window=3, size=60.0)),
        case("hidden keys with by far the best scores", _against_the_window),
        case("length 150, window 5", _made(1, 2, 150, 3, window=5)),
        case("length 131, window 64", _made(1, 2, 131, 3, window=64)),
        case("length 140, window 90", _made(2, 1, 140, 3, window=90)),
        case("non-contiguous inputs", _strided),
        case("float32", _made(2, 3, 9, 16, window=4, dtype=torch.float32), tolerance=1e-4),
        case("bfloat16", _made(2, 3, 9, 4, window=4, dtype=torch.bfloat16)),
    ),
    mistakes=(
        RANDOM,
        *adding(DEFAULT, {
            "the root of the wrong size": ("default = 1 / math.sqrt(window)",
                "default = 1 / math.sqrt(query.shape[1] * query.shape[-1])"),
        }),
        *without(only(GIVEN, "scale rounded"), "factor = default if scale is None else int(scale)"),
        *epsilon(_epsilon, 1e-7, 1e-8),
        *another_scale(_another_scale),
        *AMONG,
        *without(SOFTMAX, "softmax over an axis counted from the front"),
        mistake(
            "queries left over",
            "The last queries, which do not fill a run or a block, got nothing. What becomes of the L mod r queries "
            "that are left over after runs of r?",
            *(
                line.format(size)
                for size in ("window", 64, 32, 16, 128, 8, 4, 2)
                for line in (
                    "places = torch.arange(whole.shape[2])\n"
                    "return whole * (places < len(places) // {0} * {0}).to(whole.dtype).unsqueeze(-1)",
                    "return whole[:, :, : whole.shape[2] // {0} * {0}]",
                )
            ),
            "return torch.cat([whole[:, :, s : s + 64] for s in range(0, whole.shape[2] - 63, 64)], 2)",
        ),
        mistake("window too long by one", "Each query sees its own key and `window` more. Its own key counts: with "
                "window 1, how many keys are seen?", "near = j >= i - window", "near = j >= i - window - 1"),
        mistake("window too short by one",
                "A query sees one key fewer than `window`, though its past is long enough. Its "
                "own key is one of the window: how far back does the rest reach?",
                *_empty("near = j > i - window + 1", "near = j > i - window + 2"), "near = j > i - max(1, window - 1)",
                "near = j > i - min(window, key.shape[2] - 1)", "near = j > i - max(1, min(window, key.shape[2] - 1))"),
        mistake("half the window", "The window was halved, as for one that reaches to both sides. A causal one reaches "
                "only into the past: how many keys does each query see with window 4?", "near = j >= i - window // 2",
                *_empty("near = j > i - window // 2"), "near = j > i - (window + 1) // 2"),
        *saying(
            adding(without(PAST, "only its own key", "past = j > i", "past = j > i + 1", "past = j >= i"), {
                "own key hidden": (*_empty("past = j < i")[1:], *_empty("allowed = (j < i) & (j >= i - window)"),
                                   "allowed = past & ((j < i) | (i == 0)) & (j >= i - window)",
                                   "allowed = past & ((j < i) | (i == 0)) & near"),
                "one key of the future seen": ("allowed = (j <= i + 1) & (j > i + 1 - window)",),
                "the future instead of the past": _empty("past = j >= i", "past = j > i"),
                "not causal": ("allowed = j >= i - window",),
            }),
            {
                "own key hidden": "The window ends before the query's own key. A query may see itself: which of the "
                "two edges is one too far to the left?",
                "one key of the future seen": "Each query sees the next key, the one to be predicted. The later edge "
                "is the causal mask's: where is it?",
                "not causal": "The past is cut off where it should be, but the future is open. Which second comparison "
                "is missing?",
            },
        ),
        mistake("earlier edge with the wrong sign", "With window 3 no query sees anything: both edges were moved the "
                "same way, and a key must pass both. On which side of the query's own key does the window begin?",
                *_empty("near = j >= i + window - 1"), "near = j >= i + window"),
        mistake("window on both sides", "Each query also sees keys after its own: the distance has lost its sign. "
                "Which keys may a causal query never see?",
                "allowed = (i - j).abs() < window", "allowed = (i - j).abs() <= window",
                "allowed = (i - j).abs() <= window // 2", "allowed = (i - j).abs() < (window + 1) // 2"),
        mistake("window to the front", "The window begins at the query's own key and reaches into the future. On which "
                "side of the diagonal does the past lie?", "allowed = (j >= i) & (j < i + window)",
                "allowed = (j >= i) & (j <= i + window)",
                *_empty("allowed = (j > i) & (j <= i + window)", "allowed = (j > i) & (j < i + window)")),
        mistake("no window", "The whole past is seen: this is the causal mask. Where does each query's distance from a "
                "key meet `window`?", "allowed = past"),
        mistake(
            "the keys before the window",
            "Each query sees only keys that are too far back. Which of the two sides of that edge is the window?",
            *_empty("allowed = j <= i - window", "allowed = j < i - window", "allowed = past & (j < i - window + 1)"),
        ),
        mistake("blocks instead of a sliding window", "Queries see their own block only, so some see one key and their "
                "neighbour `window`. Where does the window of the next query begin?",
                "near = i // window == j // window", "allowed = i // window == j // window"),
        mistake("window counted from the first key", "Every query sees the same first keys. The window moves along "
                "with the query: from which key is it "
                "counted?", "near = j < window", "allowed = (j < window).expand(len(i), -1)"),
        mistake("short rows filled up", "The first queries were given `window` keys too, some of them in the future. "
                "`window` is the most a query sees: what if its past is shorter?",
                "allowed = (past & near) | ((i < window) & (j < window))"),
        mistake("only the key at the window's edge", "Each query sees a single key, the first of its window. Which "
                "keys come between that and its own?",
                *_empty("allowed = j == i - window + 1", "allowed = j == i - window"), "allowed = j == i",
                "near = (i - j) % window == 0"),
        mistake(
            "negative index counted from the end",
            "An index or the end of a slice became negative, and Python counts such a place from the end of the row: a "
            "query sees other keys than it should, or none. Where does the table begin?",
            "allowed = (i - j) % key.shape[2] < window",
            *_empty("low = i - window + 1\nnear = j >= torch.where(low < 0, (low + key.shape[2]).clamp(min=0), low)"),
            "low = i - window + 1\nlow = torch.where(low < 0, (low + key.shape[2]).clamp(min=0), low)\n"
            "near = (j >= low) | (low > i)",
        ),
        mistake(
            "no mask inside a run",
            "All queries of a run see all keys that the run was given, the future among them. Inside a run each query "
            "still has a window of its own: what hides the rest?",
            *_in_runs("allowed = (j > start - window) & (j < start + size)", 64, "window", 2, 3, 4, 5, 8, 16, 32, 128),
        ),
        mistake("nothing from before the run", "The first queries of a run miss the keys that come before it: each run "
                "was given its own keys alone. Which keys does the first query of a run see?",
                *_in_runs("allowed = past & near & (j >= start)", 64, 2, 3, 4, 5, 8, 10, 16, 20, 32, 50, 128)),
        mistake("the keys of a run cut short",
                "The first queries of a run miss the first keys of their windows: the run "
                "was given too few keys. How far back does its first query look?",
                *(line + end for line in _in_runs(
                    "allowed = past & near & (j >= (start - window + 2).clamp(min=0))", 64, 32, 16, 8, 4, 128, 50)
                  for end in ("", "\nweights = torch.softmax(scores, -1)")),
                *_in_runs("allowed = past & near & (j >= (start - window // 2).clamp(min=0))", 64, 32, 16)),
        mistake("a softmax for each block",
                "Each run's own keys and those before it have a softmax of their own, and the "
                "results were added or averaged: a part of bad keys speaks as loudly as a part of good ones. Over what "
                "does one softmax run?",
                *(f"{line}{half}" for line in _in_runs(
                    "weights = stable_softmax(scores.where(j >= start, -torch.inf)) + "
                    "stable_softmax(scores.where(j < start, -torch.inf))", 64, "window", 2, 3, 4, 5, 8, 16, 32,
                    128)
                  for half in ("", " / 2", "\nout = weights / weights.sum(-1, keepdim=True) @ value"))),
        mistake(
            "the mask of a full run at the beginning",
            "The mask of a run counts from its first key, and the first runs have fewer keys before them than the "
            "others, so their bands are shifted. How far back does the slice begin there?",
            *(
                line
                for rest in ("", " & (column >= row)")
                for line in _in_runs(
                    "row, column = i - start, j - (start - window + 1).clamp(min=0)\n"
                    f"allowed = (column >= 0) & (j < start + size) & (column < row + window){rest}",
                    *("window", 2, 3, 4, 5, 8, 16, 32, 64, 128),
                )
            ),
        ),
        mistake("the whole block before seen", "Each query sees all of the block before its own, so most see more than "
                "`window` keys. Two blocks hold all that a query may see, and more: what is still to be hidden?",
                "near = j // window >= i // window - 1",
                "allowed = (j // window <= i // window) & (j // window >= i // window - 1)"),
        mistake("padding counted as keys", "The first queries come out too small: the zeros that were put before the "
                "first key take part in the softmax, and exp(0) is 1. What hides a key that is not there?",
                "zeros = torch.where(torch.arange(window - 1) < window - 1 - i, 0.0, -torch.inf).to(scores.dtype)\n"
                "both = torch.cat((zeros.expand(*scores.shape[:-1], -1), scores), -1)\n"
                "weights = stable_softmax(both)[..., window - 1 :]",
                "zeros = (window - 1 - torch.arange(query.shape[2]).unsqueeze(-1)).clamp(min=0).to(scores.dtype)\n"
                "zeros = zeros - (window - key.shape[2]) * (window > key.shape[2]) * (zeros > 0)\n"
                "zeros = torch.where(zeros > 0, zeros.log(), -torch.inf).expand(*scores.shape[:-1], 1)\n"
                "weights = stable_softmax(torch.cat((zeros, scores), -1))[..., 1:]"),
        mistake("the first key counted again", "The first queries count key 0 several times: the places before it were "
                "lifted to 0, and taken along. How many keys does query 0 see?",
                "more = torch.where(j == 0, 1 + (window - 1 - i).clamp(min=0), 1)\n"
                "scores = scaled.masked_fill(~allowed, -torch.inf) + more.to(scaled.dtype).log()",
                "more = torch.where(j == 0, 1 + (min(window, key.shape[2]) - 1 - i).clamp(min=0), 1)\n"
                "scores = scaled.masked_fill(~allowed, -torch.inf) + more.to(scaled.dtype).log()"),
        mistake("a score of 0 taken for padding",
                "A key or a query of zeros has scores of 0, and these were hidden like "
                "padding. Padding is known by its place: which places come before the first key?",
                "scores = scaled.masked_fill(~allowed | (scaled == 0), -torch.inf)",
                "scores = scaled.masked_fill(~allowed | (scaled == 0), -torch.inf)\nweights = torch.softmax(scores, "
                "-1)",
                "scores = scaled.masked_fill(~allowed | (key == 0).all(-1).unsqueeze(-2), -torch.inf)"),
        mistake("the window wraps around", "The first queries see the last keys, as on a ring: `roll` and negative "
                "indices go on at the other end. What comes before the first key?",
                "often = (window - 1 - (i - j) % key.shape[2]) // key.shape[2] + 1\n"
                "scores = scaled + often.to(scaled.dtype).log()"),
        mistake("no output before the window is full", "The first window - 1 queries got zeros. They have fewer keys, "
                "but they have some: which does query 0 see?",
                "out = weights @ value * (i >= window - 1).to(value.dtype)", "return whole[:, :, window - 1 :]"),
        *saying(
            without(adding(MASK, {"one mask for all queries": _empty("allowed = (past & near).all(0)")[1:]}),
                    "one mask for all batches", "mask transposed", _SOME),
            {
                "mask ignored": "Every query sees every key. Where is the mask of the window used?",
                "mask inverted": "Each query attends to exactly what it may not see. What does True mean in your mask, "
                "and what does True mean to `masked_fill`?",
            },
        ),
        *only(EMPTY_ROWS, "the first key decides for the row"),
        *without(VALUES, "the root of the width of the values"),
        *COMPARED,
        mistake("one head for all",
                "Every head read the keys and values of one of them, or gave what one of them found. "
                "Each head has its own: which axis is theirs?", "products = query @ key[:, :1].mT\n"
                "out = weights @ value[:, :1]",
                "out = (weights @ value)[:, :1].expand(value.shape[0], value.shape[1], -1, -1)",
                "out = weights @ value[:, :1]", "products = query @ key[:, :1].mT"),
        batch_mixed("products = query @ key[:1].mT\nout = weights @ value[:1]",
                    "out = (weights @ value)[:1].expand(value.shape[0], -1, -1, -1)", "out = weights @ value[:1]",
                    "products = query @ key[:1].mT"),
        cut_off("whole = torch.cat(parts, 2).detach()", "products = query @ key.mT.detach()",
                "out = weights @ value.detach()",
                "products = query.detach() @ key.mT", "weights = stable_softmax(scores).detach()",
                "products = query @ key.mT.detach()\nout = weights @ value.detach()"),
        overwritten("default = 1 / math.sqrt(query.shape[-1])\nproducts = query.mul_(default) @ key.mT\nfactor = 1.0",
                    "products = query.div_(math.sqrt(query.shape[-1])) @ key.mT\nfactor = 1.0"),
        *other_kinds("whole", "weights"),
        lower_precision(sliding_window_attention, "out = (weights.float() @ value.float()).to(value.dtype)"),
        mistake("window masked but dense", _DENSE_SAYS,
                "def sliding_window_attention(query, key, value, window):\n"
                "    mask = window_mask(query.shape[2], query.shape[2], window)\n"
                "    return scaled_dot_product_attention(query, key, value, mask)",
                "def sliding_window_attention(query, key, value, window):\n"
                "    mask = window_mask(query.shape[2], query.shape[2], window)\n"
                "    rows = zip(query.split(1, 2), mask.split(1))\n"
                "    return torch.cat([scaled_dot_product_attention(row, key, value, seen) for row, seen in rows], 2)"),
    ),
    laws=(average_law(lambda args: args[2]),),
    costs=(
        Cost("the largest tensor", largest_tensor, _SIZES, _long, 1.3, _DENSE_SAYS, "window masked but dense"),
        Cost("the work", work, _SIZES, _long, 1.3, _DENSE_SAYS, "window masked but dense"),
    ),
    hints=(
        "Which keys does query 10 need with window 4, and which do queries 10 to 13 need together? How many are those, "
        "and does it depend on L?",
        "Walk over the sequence in runs of queries. A run of r queries needs the keys of the run itself and the "
        "window - 1 before it: slice these, and nothing else.",
        "Inside a run every query still has its own window: a small mask of r × (r + window - 1) hides what is too far "
        "back and what is in the future.",
        "The first run has fewer keys before it, and the last one may be short. Let `max(0, start - window + 1)` and "
        "`min(start + r, L)` say where the slices begin and end, and make the mask from the places themselves.",
    ),
)
