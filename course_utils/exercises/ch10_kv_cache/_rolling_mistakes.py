"""What goes wrong when the positions in a rolling cache are listed."""

import numpy as np
import torch

from course_utils.attention import rolling_cache_positions as right
from course_utils.checking.exercise import Misconception
from course_utils.exercises.ch10_kv_cache import _rolling_wrong as wrong

MISCONCEPTIONS = (
    Misconception(
        "positions listed twice",
        wrong.joined,
        "A position stands in the list twice: it is a sink and lies in the window too. A key that "
        "is attended to twice gets twice the weight. Where may the window begin at the earliest?",
        also=(lambda n, w, s: list(range(n)) if n <= w else wrong.joined(n, w, s),),
    ),
    Misconception(
        "more sinks than tokens",
        wrong.unlimited,
        "The list holds positions that were not seen yet: there are fewer tokens than sinks. What "
        "bounds the number of sinks?",
    ),
    Misconception(
        "positions below zero",
        wrong.negative,
        "The list holds negative positions: the window is longer than the text. Where does the "
        "text begin?",
    ),
    Misconception(
        "no sinks",
        lambda n, w, s: right(n, w, 0),
        "The first tokens are gone. They are kept for good: much weight goes to them, whatever "
        "they say.",
    ),
    Misconception(
        "only the sinks",
        lambda n, w, s: list(range(min(s, n))),
        "Only the first tokens are there. What does the newest token read of its neighbours?",
        also=(lambda n, w, s: list(range(min(w, n))),),
    ),
    Misconception(
        "nothing forgotten",
        lambda n, w, s: list(range(n)),
        "Every position is still there: this cache grows with the text. What leaves it?",
    ),
    Misconception(
        "sinks counted in the window",
        lambda n, w, s: right(n, max(w - s, 0), s),
        "The window is too short by the number of sinks. The sinks are kept besides the last "
        "`window` positions.",
        also=(lambda n, w, s: list(range(s)) + list(range(max(s, n - w + s), n)),),
    ),
    Misconception(
        "the window one too short",
        lambda n, w, s: right(n, w - 1, s),
        "The window holds one position too few. The newest position is one of the last `window`.",
        also=(
            lambda n, w, s: right(n - 1, w, s),
            lambda n, w, s: right(n - 1, w - 1, s),
        ),
    ),
    Misconception(
        "the window one too long",
        lambda n, w, s: right(n, w + 1, s),
        "The window holds one position too many. How many numbers are there from n - window to "
        "n - 1?",
    ),
    Misconception(
        "the window longer by the sinks",
        lambda n, w, s: right(n, w + s, s),
        "The window is too long by the number of sinks: both together hold `num_sinks + window`.",
        also=(lambda n, w, s: right(n, w + s, 0) if n <= w + s else right(n, w + s, s),),
    ),
    Misconception(
        "both conditions at once",
        lambda n, w, s: [p for p in range(n) if p < s and p >= n - w],
        "Only positions that are sinks and lie in the window too. Which of the two is enough?",
    ),
    Misconception(
        "a position that is still to come",
        lambda n, w, s: right(n + 1, w, s),
        "The list holds position `num_seen`. Positions count from 0: what is the last one seen?",
        also=(lambda n, w, s: right(n + 1, w + 1, s),),
    ),
    Misconception(
        "positions counted from one",
        wrong.of(lambda held: [p + 1 for p in held]),
        "Each position is one too large: the first is 0.",
    ),
    Misconception(
        "one sink too many, or too few",
        lambda n, w, s: right(n, w, s + 1),
        "The number of sinks is off by one: they are the positions 0 to num_sinks - 1.",
        also=(
            lambda n, w, s: right(n, w, max(s - 1, 0)),
            lambda n, w, s: right(n, w, max(s, 1)),
            lambda n, w, s: [p for p in right(n, w, s + 1) if p or not s],
        ),
    ),
    Misconception(
        "window and sinks exchanged",
        lambda n, w, s: right(n, s, w),
        "As many first positions are kept as last ones should be. Which argument is the window?",
    ),
    Misconception(
        "the first of the window taken for sinks",
        wrong.ring_of_all,
        "The oldest positions that are left stand where the sinks should be. Sinks are the first "
        "of the text, and never leave.",
    ),
    Misconception(
        "numbered anew inside the cache",
        wrong.of(lambda held: list(range(len(held)))),
        "These are the first positions of the text, or the places inside the cache. Asked for is "
        "where in the text the tokens stood that are kept now.",
        also=(lambda n, w, s: list(range(min(n, w + s))),),
    ),
    Misconception(
        "in the order of the slots",
        wrong.by_slots,
        "The right positions in the order in which a ring of slots holds them. They are to ascend.",
        also=(wrong.newest_then_sinks,),
    ),
    Misconception(
        "descending",
        wrong.of(lambda held: held[::-1]),
        "The right positions from the last to the first. They are to ascend.",
    ),
    Misconception(
        "nothing kept until the cache is full",
        wrong.nothing_before_full,
        "A text shorter than the cache is kept whole. Which positions does it have?",
        also=(
            lambda n, w, s: right(n, w, s) if n > w else [],
            lambda n, w, s: right(n, w, s) if n > w else list(range(min(s, n))),
        ),
    ),
    Misconception(
        "every so many positions",
        wrong.every_so_often,
        "The positions are spread over the text. A rolling cache keeps the newest ones, side by "
        "side.",
    ),
    Misconception(
        "positions that left",
        lambda n, w, s: [p for p in range(n) if p not in right(n, w, s)],
        "These are the positions that are gone. Asked for are those that are kept.",
    ),
    Misconception(
        "how many instead of which",
        wrong.of(len),
        "This is how many positions are kept. Asked for is which.",
    ),
    Misconception(
        "another kind of list",
        wrong.of(torch.tensor),
        "The positions are right, but a list of Python's ints is asked for. What makes one of it?",
        also=(
            wrong.of(tuple),
            wrong.of(set),
            wrong.of(lambda held: [float(p) for p in held]),
            wrong.of(lambda held: [torch.tensor(p) for p in held]),
            wrong.of(lambda held: [np.int64(p) for p in held]),
            wrong.of(lambda held: range(held[0], held[-1] + 1) if held else range(0)),
        ),
    ),
    Misconception(
        "sinks and window apart",
        lambda n, w, s: (
            right(n, w, s)[: min(s, n)],
            right(n, w, s)[min(s, n) :],
        ),
        "Sinks and window came as two lists. One is asked for.",
        also=(lambda n, w, s: [right(n, w, s)[: min(s, n)], right(n, w, s)[min(s, n) :]],),
    ),
)
