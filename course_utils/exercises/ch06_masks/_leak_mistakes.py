"""What goes wrong in a leak test: what is changed, and how that is done."""

from collections.abc import Callable

import torch
from torch import Tensor

from course_utils.checking.exercise import Misconception
from course_utils.exercises.ch06_masks._leak_tests import (
    build,
    by_more_than,
    one,
    shared_memory,
    unrestored,
    unrestored_noise,
)


def _earlier(x: Tensor, start: int) -> Tensor:
    changed = x.clone()
    changed[:, :start] += 1.0
    return changed


def _zeroed(x: Tensor, start: int) -> Tensor:
    changed = x.clone()
    changed[:, start:] = 0.0
    return changed


def _poisoned(x: Tensor, start: int) -> Tensor:
    changed = x.clone()
    changed[:, start:] = torch.nan
    return changed


def _reordered(order: Callable[[Tensor], Tensor]) -> Callable[[Tensor, int], Tensor]:
    return lambda x, start: torch.cat([x[:, :start], order(x[:, start:])], 1)


def _rolled(rest: Tensor) -> Tensor:
    return rest.roll(1, 1)


def _first_feature(x: Tensor, start: int) -> Tensor:
    changed = x.clone()
    changed[:, start:, 0] += 1.0
    return changed


def _last_feature(x: Tensor, start: int) -> Tensor:
    changed = x.clone()
    changed[:, start:, -1] += 1.0
    return changed


def _is_nan(one: Tensor, other: Tensor) -> bool:
    return bool(other.isnan().any())


CHANGES = (
    Misconception(
        "the past is changed",
        build(change=_earlier, look=lambda out, start: out[:, start:]),
        "Outputs were compared whose own past was changed, and they moved, as they should. Up to "
        "where must two inputs be the same for an output to have no excuse?",
        also=(
            build(change=_earlier),
            build(change=one, look=lambda out, start: out[:, start + 1 :]),
        ),
    ),
    Misconception(
        "nothing is changed",
        build(change=lambda x, start: x.clone()),
        "The attention was called more than once, but always with the same numbers, so every "
        "leak stays hidden. Is the change zero, or is it written into a tensor that both names "
        "share?",
        also=(shared_memory,),
    ),
    Misconception(
        "changes pile up",
        unrestored,
        "When a position is changed, those before it still carry their earlier changes, and "
        "outputs of the past move for that reason. What must every round start from?",
        also=(unrestored_noise,),
    ),
    Misconception(
        "only the last position is changed",
        build(change=one, starts=lambda n: range(n - 1, n)),
        "The last position was changed and no other. A leak from any earlier one is not found. "
        "Which positions are later than some other?",
    ),
    Misconception(
        "only one position is changed",
        build(change=one, starts=lambda n: range(n // 2, n // 2 + 1) if n > 1 else ()),
        "One position was changed and no other, so a leak from elsewhere is not found. Which "
        "positions are later than some other?",
        also=(
            build(change=one, starts=lambda n: range(1, min(n, 2))),
            build(change=one, starts=lambda n: range(2, 3) if n > 2 else range(1, n)),
            build(change=one, starts=lambda n: range(3, 4) if n > 3 else range(1, n)),
        ),
    ),
    Misconception(
        "only one cut is tried",
        build(starts=lambda n: range(n // 2, n // 2 + 1) if n > 1 else ()),
        "Everything after one cut was changed, and the outputs before it compared. A leak that "
        "stays on one side of the cut is not found. How many cuts are there?",
        also=(
            build(starts=lambda n: range(1, min(n, 2))),
            build(starts=lambda n: range(2, 3) if n > 2 else range(1, n)),
            build(starts=lambda n: range(3, 4) if n > 3 else range(1, n)),
        ),
    ),
    Misconception(
        "a position is left out",
        build(change=one, starts=lambda n: range(1, n - 1)),
        "One end of the range is missing: a leak from the last position, or into the first "
        "output, is not found. Which numbers does your `range` give?",
        also=(
            build(starts=lambda n: range(1, n - 1)),
            build(starts=lambda n: range(2, n)),
            build(change=one, starts=lambda n: range(2, n - 1)),
            build(starts=lambda n: range(2, n - 1)),
        ),
    ),
    Misconception(
        "the future is shuffled, not changed",
        build(change=_reordered(lambda rest: rest.flip(1))),
        "The later positions changed places only. What adds up over them stays, such as a mean, "
        "and a last position alone cannot be shuffled. What change leaves nothing as it was?",
        also=(
            build(change=_reordered(_rolled)),
            build(change=_reordered(_rolled), differs=by_more_than(1e-6)),
            build(change=_reordered(lambda rest: rest.flip(1)), differs=by_more_than(1e-6)),
        ),
    ),
    Misconception(
        "one feature of the input is changed",
        build(change=_first_feature),
        "One feature of the later positions was changed, so a leak of any other is not found. "
        "Which numbers of a position can an attention read?",
        also=(build(change=_last_feature),),
    ),
    Misconception(
        "the future is poisoned with NaN or inf",
        build(change=_poisoned, differs=_is_nan),
        "NaN was put into the future. A causal attention gives it the weight 0, and 0 times NaN is "
        "NaN: it looks like a leak where there is none. Which change stays within numbers?",
    ),
    Misconception(
        "the input is zero to start with",
        build(base=lambda n, d: torch.zeros(1, n, d)),
        "With zeros, every value of the past is 0, whatever weight it gets, so a leak into the "
        "weights stays hidden. What should the unchanged input look like?",
    ),
    Misconception(
        "all positions are the same to start with",
        build(base=lambda n, d: torch.ones(1, n, d)),
        "When all positions of the past are equal, their average is the same under any weights, so "
        "a leak into the weights stays hidden. What should the unchanged input look like?",
        also=(build(base=lambda n, d: torch.ones(1, n, d), change=_zeroed),),
    ),
)
