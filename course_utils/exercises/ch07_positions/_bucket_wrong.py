"""T5's buckets with exchangeable steps: a mistake exchanges one of them."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from course_utils.checking.exercise import Function, Misconception


def ahead(steps: Tensor) -> Tensor:
    """Return which keys stand after their query."""
    return steps > 0


def logarithmic(distance: Tensor, exact: int, buckets: int, max_distance: int) -> Tensor:
    """Return the wide bucket of each distance before it is clamped, as a real number."""
    far = distance.clamp(min=1).double() / exact
    return exact + far.log() / math.log(max_distance / exact) * (buckets - exact)


def build(
    steps: Callable[[Tensor], Tensor] = lambda steps: steps,
    halve: Callable[[int, bool], int] = lambda n, both: n // 2 if both else n,
    upper: Callable[[Tensor], Tensor] = ahead,
    fold: Callable[[Tensor, bool], Tensor] = lambda s, both: s.abs() if both else (-s).clamp(min=0),
    exact: Callable[[int], int] = lambda n: n // 2,
    small: Callable[[Tensor, int], Tensor] = lambda distance, exact: distance < exact,
    wide: Callable[[Tensor, int, int, int], Tensor] = logarithmic,
    whole: Callable[[Tensor], Tensor] = lambda bucket: (bucket + 1e-9).floor(),
    last: Callable[[int, int], int] = lambda buckets, given: buckets - 1,
    first: Callable[[int, int], int] = lambda buckets, given: buckets,
) -> Function:
    """Return the buckets with some of their steps exchanged.

    Args:
        steps: The distances that are used.
        halve: How many buckets a direction has.
        upper: Which distances fall into the upper half.
        fold: The distance without direction.
        exact: How many buckets hold one distance.
        small: Which distances have one of those.
        wide: The bucket of the others, as a real number.
        whole: That number made whole.
        last: The last bucket of a direction.
        first: Where the upper half begins.
    """

    def bucket(
        relative_position: Tensor, num_buckets: int, max_distance: int, bidirectional: bool
    ) -> Tensor:
        used = steps(relative_position)
        buckets = halve(num_buckets, bidirectional)
        distance = fold(used, bidirectional)
        near = exact(buckets)
        far = whole(wide(distance, near, buckets, max_distance))
        far = far.clamp(max=last(buckets, num_buckets)).long()
        found = torch.where(small(distance, near), distance, far)
        if bidirectional:
            found = found + upper(used).long() * first(buckets, num_buckets)
        return found

    return bucket


def of(name: str, says: str, *versions: Function) -> Misconception:
    """Return a mistake with its versions."""
    return Misconception(name, versions[0], says, also=versions[1:])
