"""What goes wrong in a window mask."""

from collections.abc import Callable

import torch
from torch import Tensor

from course_utils.attention import window_mask
from course_utils.checking.exercise import Function, Misconception
from course_utils.exercises.ch06_masks._mask_kinds import wrong_axes, wrong_kinds

Rule = Callable[[Tensor, Tensor, int], Tensor]


def _by(rule: Rule) -> Function:
    """Return a mask made by another rule for a query's place, the key's place and the window."""

    def wrong(num_queries: int, num_keys: int, window: int, offset: int = 0) -> Tensor:
        own, place = torch.arange(num_queries).unsqueeze(-1) + offset, torch.arange(num_keys)
        return rule(own, place, window) & torch.ones(num_queries, num_keys, dtype=torch.bool)

    return wrong


def _first_keys(own: Tensor, place: Tensor, window: int) -> Tensor:
    return (place <= own) & (place < window)


EDGES = (
    *wrong_kinds(window_mask),
    Misconception(
        "window too long by one",
        _by(lambda i, j, w: (j <= i) & (j >= i - w)),
        "Each query sees its own key and `window` more. The own key counts: with window 1, how "
        "many keys are seen?",
        also=(_by(lambda i, j, w: (j <= i) & (j >= i - w - 1)),),
    ),
    Misconception(
        "window too short by one",
        _by(lambda i, j, w: (j <= i) & (j > i - w + 1)),
        "Each query sees one key too few, and with window 1 none at all. The own key is one of the "
        "window: how far back does the rest reach?",
        also=(_by(lambda i, j, w: (j <= i) & (j > i - w + 2)),),
    ),
    Misconception(
        "half the window",
        _by(lambda i, j, w: (j <= i) & (j >= i - w // 2)),
        "The window was halved, as for one that reaches to both sides. A causal one lies wholly in "
        "the past: how many keys does each query see with window 4?",
        also=(
            _by(lambda i, j, w: (j <= i) & (j > i - w // 2)),
            _by(lambda i, j, w: (j <= i) & (j > i - (w + 1) // 2)),
        ),
    ),
    Misconception(
        "one key of the future seen",
        _by(lambda i, j, w: (j <= i + 1) & (j > i - w)),
        "Each query sees the next key, the one to be predicted. The later edge is the causal "
        "mask's: where does it stand?",
        also=(
            _by(lambda i, j, w: (j <= i + 1) & (j > i + 1 - w)),
            _by(lambda i, j, w: (j < i + w) & (j > i)),
        ),
    ),
    Misconception(
        "earlier edge with the wrong sign",
        _by(lambda i, j, w: (j <= i) & (j >= i + w - 1)),
        "With window 3 no query sees anything: both edges were moved the same way, and a key must "
        "pass both. On which side of the own key does the window begin?",
        also=(
            _by(lambda i, j, w: (j <= i) & (j >= i + w)),
            _by(lambda i, j, w: (j <= i) & (j > i + w)),
        ),
    ),
    Misconception(
        "own key left out",
        _by(lambda i, j, w: (j < i) & (j >= i - w)),
        "The window ends before the query's own key. A query may see itself: which of the two "
        "edges stands one too far to the left?",
        also=(_by(lambda i, j, w: (j < i) & (j > i - w)),),
    ),
    Misconception(
        "window on both sides",
        _by(lambda i, j, w: (i - j).abs() < w),
        "Each query also sees keys after its own: the distance has lost its sign. Which keys may "
        "a causal query never see?",
        also=(
            _by(lambda i, j, w: (i - j).abs() <= w),
            _by(lambda i, j, w: (i - j).abs() <= w // 2),
            _by(lambda i, j, w: (i - j).abs() < (w + 1) // 2),
        ),
    ),
    Misconception(
        "window to the front",
        _by(lambda i, j, w: (j >= i) & (j < i + w)),
        "The window begins at the query's own key and reaches into the future. On which side of "
        "the diagonal does the past stand?",
        also=(
            _by(lambda i, j, w: (j > i) & (j <= i + w)),
            _by(lambda i, j, w: (j >= i) & (j <= i + w)),
        ),
    ),
    Misconception(
        "no window",
        _by(lambda i, j, w: j <= i),
        "The whole past is seen: this is the causal mask. Where is `window` used?",
    ),
    Misconception(
        "not causal",
        _by(lambda i, j, w: j > i - w),
        "The past is cut off where it should be, but the future is open. Which second comparison "
        "is missing?",
        also=(_by(lambda i, j, w: j >= i - w),),
    ),
    Misconception(
        "what lies before the window",
        _by(lambda i, j, w: j <= i - w),
        "Each query sees only keys that are too far back. Which of the two sides of that edge is "
        "the window?",
        also=(_by(lambda i, j, w: j < i - w), _by(lambda i, j, w: (j <= i) & (j < i - w + 1))),
    ),
    Misconception(
        "blocks instead of a sliding window",
        _by(lambda i, j, w: (j <= i) & (torch.div(i, w, rounding_mode="floor") == j // w)),
        "Queries see their own block only, so some see one key and their neighbour `window`. Where "
        "does the window of the next query begin?",
        also=(_by(lambda i, j, w: torch.div(i, w, rounding_mode="floor") == j // w),),
    ),
    Misconception(
        "window counted from the first key",
        _by(_first_keys),
        "Every query sees the same first keys. The window moves along: from which key is it "
        "counted?",
        also=(_by(lambda i, j, w: j < w),),
    ),
    Misconception(
        "short rows filled up",
        _by(lambda i, j, w: ((j <= i) & (j > i - w)) | ((i < w) & (j < w))),
        "The first queries were given `window` keys too, some of them in the future. `window` is "
        "the most a query sees: what if its past is shorter?",
    ),
    Misconception(
        "only the key at the window's edge",
        _by(lambda i, j, w: j == i - w + 1),
        "Each query sees a single key, the first of its window. What lies between that and its "
        "own?",
        also=(
            _by(lambda i, j, w: j == i - w),
            _by(lambda i, j, w: j == i),
            _by(lambda i, j, w: (j <= i) & ((i - j) % w == 0)),
        ),
    ),
    Misconception(
        "`|` for `&`",
        _by(lambda i, j, w: (j > i - w) | (j <= i)),
        "Every query sees every key: each key is on the right side of one edge at least. Must one "
        "of the two conditions hold, or both?",
    ),
    wrong_axes(
        window_mask,
        "The values are right, but there are other axes than (L, S). Broadcasting adds axes for "
        "batch and heads when they are needed. Which axes does this mask really depend on?",
        lambda mask: mask[None, None],
        lambda mask: mask[None],
        torch.flatten,
    ),
)
