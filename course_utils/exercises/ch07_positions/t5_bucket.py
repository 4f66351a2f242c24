"""Exercise: the bucket of a distance, as T5 has it."""

from typing import Any

import torch
from torch import Tensor

from course_utils.checking.exercise import Case, Exercise, Property
from course_utils.exercises.ch07_positions._bucket_mistakes import MISCONCEPTIONS
from course_utils.positions import t5_bucket


def _steps(*steps: int, buckets: int = 32, far: int = 128, both: bool = True) -> Any:
    return lambda g: (torch.tensor(steps), buckets, far, both)


def _table(queries: int, keys: int, buckets: int, far: int, both: bool) -> Any:
    def make(g: torch.Generator) -> tuple[Any, ...]:
        steps = torch.arange(keys) - torch.arange(queries).unsqueeze(-1)
        return steps, buckets, far, both

    return make


def _every(reach: int, buckets: int, far: int, both: bool, *left_out: int) -> Any:
    """Return all distances up to reach, without those where rounding decides on the bucket."""
    steps = [s for s in range(-reach, reach + 1) if abs(s) not in left_out]
    return _steps(*steps, buckets=buckets, far=far, both=both)


def _outside(args: tuple[Any, ...], out: Tensor) -> str | None:
    wrong = ((out < 0) | (out >= args[1])).nonzero()
    if not len(wrong):
        return None
    where = tuple(int(i) for i in wrong[0])
    return (
        f"Distance {args[0][where].item()} got bucket {out[where].item()}; there are "
        f"{args[1]} buckets, from 0."
    )


def _falls(args: tuple[Any, ...], out: Tensor) -> str | None:
    steps, buckets = args[0].flatten(), out.flatten()
    past = (steps <= 0).nonzero().flatten()
    order = past[steps[past].argsort(descending=True)]
    drop = (buckets[order].diff() < 0).nonzero()
    if not len(drop):
        return None
    near, far = order[int(drop[0])], order[int(drop[0]) + 1]
    return (
        f"Distance {int(steps[near])} is in bucket {int(buckets[near])}, and {int(steps[far])}, "
        f"which is further off, in {int(buckets[far])}."
    )


EXERCISE = Exercise(
    name="t5_bucket",
    chapter=7,
    signature="t5_bucket(relative_position, num_buckets, max_distance, bidirectional)",
    asks="Return the bucket of each distance: exact near by, by the logarithm further off.",
    reference=t5_bucket,
    minutes=20,
    difficulty=4,
    importance=3,
    cases=(
        Case("near distances before the query", _steps(0, -1, -2, -3, -7)),
        Case("near distances after the query", _steps(1, 2, 5, 7)),
        Case("one direction, near by", _steps(0, -1, -4, -9, -15, both=False)),
        Case("one direction, keys after the query", _steps(1, 2, 30, 500, both=False)),
        Case("distances around the first wide bucket", _steps(-7, -8, -9, -12, 7, 8, 9, 12)),
        Case("far distances", _steps(-20, -45, -90, -127, 20, 45, 90, 127)),
        Case("beyond max_distance", _steps(-129, -400, -5000, 129, 400, 5000)),
        # Where a bucket begins at a whole distance, rounding may decide: those are left out.
        Case("every distance up to 300, two directions", _every(300, 32, 128, True, 16, 32, 64)),
        Case("every distance up to 300, one direction", _every(300, 32, 128, False, 32, 64)),
        Case("8 buckets up to 20", _every(60, 8, 20, True)),
        Case("8 buckets up to 20, one direction", _every(60, 8, 20, False)),
        Case("10 buckets: 5 for each direction", _every(80, 10, 50, True)),
        Case("64 buckets up to 1000, one direction", _every(1500, 64, 1000, False)),
        Case("a table of 5 queries and 9 keys", _table(5, 9, 8, 20, True)),
        Case("a table of 9 queries and 5 keys, one direction", _table(9, 5, 8, 20, False)),
        Case("a single number", lambda g: (torch.tensor(-3), 32, 128, True)),
    ),
    misconceptions=MISCONCEPTIONS,
    properties=(
        Property("buckets lie between 0 and num_buckets - 1", _outside),
        Property("further into the past, buckets never fall", _falls),
    ),
    hints=(
        "First the direction: with two of them each has half of the buckets, and keys after the "
        "query take the upper half. What remains is a distance without sign.",
        "Without `bidirectional` every key after the query counts as distance 0.",
        "Half of a direction's buckets are exact: distance 3 is in bucket 3. Call their number e.",
        "From e on: log(distance/e) / log(max_distance/e) goes from 0 to 1. Spread that over the "
        "buckets that are left, and cut it off to a whole number.",
        "`torch.where` chooses between the two; clamp the far ones to the last bucket of their "
        "direction, and keep the logarithm away from 0.",
    ),
)
