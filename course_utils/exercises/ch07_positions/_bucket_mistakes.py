"""What goes wrong in T5's buckets: each mistake as something to run."""

from torch import Tensor

from course_utils.exercises.ch07_positions._bucket_far_mistakes import FAR
from course_utils.exercises.ch07_positions._bucket_wrong import build, of


def _more_than_the_past(steps: Tensor, both: bool) -> Tensor:
    return steps.abs() if both else steps.clamp(min=0)


DIRECTION = (
    of(
        "query less key",
        "The two directions are exchanged: relative_position is key minus query, so keys before "
        "the query have negative ones.",
        build(steps=lambda s: -s),
    ),
    of(
        "the upper half for keys before the query",
        "With two directions the upper half of the buckets is for keys after the query.",
        build(upper=lambda s: s < 0),
    ),
    of(
        "distance 0 in the upper half",
        "The query's own key is in the upper half. Which bucket has distance 0?",
        build(upper=lambda s: s >= 0),
        build(upper=lambda s: s <= 0),
    ),
    of(
        "directions told apart where there is only one",
        "Without `bidirectional` all buckets are for the past: none is kept for later keys.",
        build(halve=lambda n, both: n // 2),
        lambda s, n, m, both: build()(s, n, m, True),
    ),
    of(
        "buckets not halved for two directions",
        "With two directions each has only half of the buckets, so far distances fall outside.",
        build(halve=lambda n, both: n),
        build(halve=lambda n, both: n, first=lambda b, given: given // 2),
    ),
    of(
        "buckets halved once more",
        "Each direction has half of the buckets that it should have: they were halved once too "
        "often.",
        lambda s, n, m, both: build()(s, n // 2, m, both),
    ),
    of(
        "no direction at all",
        "Keys before and after the query share buckets although `bidirectional` is True.",
        build(upper=lambda s: s > 10**9),
        lambda s, n, m, both: build()(-s.abs(), n, m, False),
        lambda s, n, m, both: build()(s, n, m, False),
        build(steps=lambda s: s.abs()),
    ),
    of(
        "`bidirectional` the wrong way round",
        "With `bidirectional` only the past is told apart, and without it both directions are.",
        lambda s, n, m, both: build()(s, n, m, not both),
    ),
    of(
        "later keys folded onto the past",
        "Without `bidirectional` keys after the query all belong to bucket 0. Here their distance "
        "lost its sign.",
        build(fold=lambda s, both: s.abs()),
    ),
    of(
        "only later keys counted",
        "Without `bidirectional` the past is in bucket 0, and the future has the others.",
        build(fold=_more_than_the_past),
    ),
    of(
        "distances off by one",
        "All distances are one too large or too small before they are put into buckets. Which one "
        "has the query's own key?",
        build(steps=lambda s: s - 1),
        build(steps=lambda s: s + 1),
        build(fold=lambda s, both: (s.abs() - 1).clamp(min=0) if both else (-s - 1).clamp(min=0)),
    ),
    of(
        "negative buckets",
        "A bucket is negative or grows without a fold: the sign of the distance was not taken "
        "away before it was counted.",
        build(fold=lambda s, both: s),
        build(fold=lambda s, both: -s),
        build(fold=lambda s, both: s.abs() if both else -s),
    ),
)

NEAR = (
    of(
        "one exact bucket more or less",
        "The change from exact to wide buckets lies one distance too far or too near. It is at "
        "half of a direction's buckets.",
        build(exact=lambda n: n // 2 - 1),
        build(exact=lambda n: n // 2 + 1),
    ),
    of(
        "another share of exact buckets",
        "The change from exact to wide buckets lies elsewhere. What share of a direction's "
        "buckets is exact?",
        build(exact=lambda n: max(n // 4, 1)),
        build(exact=lambda n: 3 * n // 4),
        build(exact=lambda n: max(n // 3, 1)),
        build(exact=lambda n: 1),
    ),
    of(
        "all distances exact",
        "Far distances all fall into the last bucket: there is no logarithm.",
        build(small=lambda d, exact: d < 0, wide=lambda d, e, n, m: d.double()),
    ),
    of(
        "no exact buckets",
        "Near distances share buckets: the logarithm was used for all of them.",
        build(small=lambda d, exact: d < 0),
        build(small=lambda d, exact: d < 1),
    ),
    of(
        "near and far exchanged",
        "Near distances got the logarithm and far ones themselves. Which branch is which?",
        build(small=lambda d, exact: d >= exact),
    ),
)

MISCONCEPTIONS = (*DIRECTION, *NEAR, *FAR)
