"""What goes wrong when attention's traffic is counted: the plain count, and what comes back."""

from collections.abc import Callable
from typing import Any

import torch

from course_utils.checking.exercise import Function
from course_utils.exercises.ch09_flash._traffic_flash_mistakes import (
    BLOCKS,
    FLASH,
    Count,
    flash,
    mistake,
)
from course_utils.measure.traffic import hbm_traffic


def _standard(count: Count) -> Function:
    """Return the right counts with another one for plain attention."""
    return lambda n, d, m: (count(n, d, m), hbm_traffic(n, d, m)[1])


def _both(change: Callable[[int], Any]) -> Function:
    return lambda n, d, m: tuple(change(count) for count in hbm_traffic(n, d, m))


STANDARD = (
    mistake(
        "tables of N × N counted too few times",
        "Plain attention moves more than that. The scores are written, then read; the weights are "
        "written, then read: how many times N × N?",
        _standard(lambda n, d, m: 4 * n * d + 2 * n * n),
        _standard(lambda n, d, m: 4 * n * d + 3 * n * n),
        _standard(lambda n, d, m: 4 * n * d + n * n),
        _standard(lambda n, d, m: 4 * n * d),
    ),
    mistake(
        "tables of N × N counted too many times",
        "Plain attention moves less than that. Two tables of N × N are each written once and read "
        "once.",
        _standard(lambda n, d, m: 4 * n * d + 5 * n * n),
        _standard(lambda n, d, m: 4 * n * d + 6 * n * n),
        _standard(lambda n, d, m: 4 * n * d + 8 * n * n),
        _standard(lambda n, d, m: 8 * n * d + 4 * n * n),
    ),
    mistake(
        "inputs or output left out of the plain count",
        "Four tables of N × d are moved by plain attention, three in and one out. Not all of them "
        "were counted.",
        _standard(lambda n, d, m: 3 * n * d + 4 * n * n),
        _standard(lambda n, d, m: 4 * n * n),
        _standard(lambda n, d, m: 2 * n * d + 4 * n * n),
        _standard(lambda n, d, m: n * d + 4 * n * n),
        _standard(lambda n, d, m: 4 * n + 4 * n * n),
    ),
    mistake(
        "arithmetic counted",
        "These are operations, N × N × d of them. What is asked for is how many numbers cross "
        "between the two memories.",
        _standard(lambda n, d, m: 4 * n * n * d),
        _standard(lambda n, d, m: 4 * n * d + 4 * n * n * d),
        _standard(lambda n, d, m: 2 * n * n * d),
        lambda n, d, m: (4 * n * n * d, 4 * n * n * d),
    ),
)
RETURNED = (
    mistake(
        "bytes instead of elements",
        "These are bytes, 2 or 4 an element. The exercise counts elements.",
        _both(lambda count: 2 * count),
        _both(lambda count: 4 * count),
        _both(lambda count: 8 * count),
    ),
    mistake(
        "the two swapped",
        "Flash came first. The order is standard, then flash.",
        lambda n, d, m: hbm_traffic(n, d, m)[::-1],
    ),
    mistake(
        "the ratio instead of the counts",
        "What came back is made of the two counts. Both are asked for, as they are.",
        lambda n, d, m: hbm_traffic(n, d, m)[0] / hbm_traffic(n, d, m)[1],
        lambda n, d, m: hbm_traffic(n, d, m)[0] - hbm_traffic(n, d, m)[1],
    ),
    mistake(
        "floats",
        "The counts are no whole numbers of Python's: a `/` gives a float, and a float loses the "
        "last digits of a large count. Which division keeps an int?",
        _both(float),
        flash(lambda n, d, m: float(hbm_traffic(n, d, m)[1])),
        _standard(lambda n, d, m: float(hbm_traffic(n, d, m)[0])),
        _both(lambda count: int(float(count))),
        flash(lambda n, d, m: int(float(hbm_traffic(n, d, m)[1]))),
        _standard(lambda n, d, m: int(float(hbm_traffic(n, d, m)[0]))),
    ),
    mistake(
        "a tensor",
        "The counts came as tensors. Python's `int` is asked for, and it has no largest number.",
        lambda n, d, m: tuple(torch.tensor(float(count)) for count in hbm_traffic(n, d, m)),
        lambda n, d, m: torch.tensor([float(count) for count in hbm_traffic(n, d, m)]),
    ),
)
MISCONCEPTIONS = (*STANDARD, *BLOCKS, *FLASH, *RETURNED)
