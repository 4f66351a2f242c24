"""What goes wrong in T5's wide buckets: each mistake as something to run."""

import math

from torch import Tensor

from course_utils.checking.exercise import Function
from course_utils.exercises.ch07_positions._bucket_wrong import build, logarithmic, of


def _wide(wide: Function) -> Function:
    return build(wide=wide)


def _beyond(distance: Tensor, exact: int) -> Tensor:
    return (distance - exact).clamp(min=1).double()


FAR = (
    of(
        "log range off by one",
        "The wide buckets are spread over one too few or too many. From the exact ones to "
        "max_distance there are exactly as many as are left.",
        _wide(lambda d, e, n, m: logarithmic(d, e, n - 1, m)),
        _wide(lambda d, e, n, m: logarithmic(d, e, n + 1, m)),
        _wide(lambda d, e, n, m: e + (logarithmic(d, e, n, m) - e) * (n - e - 1) / (n - e)),
        _wide(lambda d, e, n, m: logarithmic(d, e, 2 * e, m)),
        _wide(lambda d, e, n, m: logarithmic(d + 1, e, n, m)),
        _wide(lambda d, e, n, m: logarithmic(d, e, n, m) + 1),
        _wide(lambda d, e, n, m: logarithmic(d, e, n, m) - 1),
        _wide(lambda d, e, n, m: logarithmic(d, e, n, m + 1)),
        _wide(lambda d, e, n, m: logarithmic(d, e, n, m - 1)),
    ),
    of(
        "rounded instead of cut",
        "The logarithm is rounded to the nearest bucket, or up. T5 cuts it off.",
        build(whole=lambda b: b.round()),
        build(whole=lambda b: b.ceil()),
    ),
    of(
        "a line instead of a logarithm",
        "The wide buckets are all equally wide. They should grow: what makes equal steps of equal "
        "ratios?",
        _wide(lambda d, e, n, m: e + (d - e).double() / (m - e) * (n - e)),
        _wide(lambda d, e, n, m: d.double() / m * n),
        _wide(lambda d, e, n, m: e + (d.double() / e).sqrt() / math.sqrt(m / e) * (n - e)),
    ),
    of(
        "the number of exact buckets not added",
        "The wide buckets begin at 0 again. Where does the first of them stand?",
        _wide(lambda d, e, n, m: logarithmic(d, e, n, m) - e),
    ),
    of(
        "logarithm of the distance itself",
        "The logarithm is that of the distance, not of its ratio to the last exact one: at the "
        "first wide distance it should be 0.",
        _wide(lambda d, e, n, m: e + d.clamp(min=1).double().log() / math.log(m) * (n - e)),
        _wide(lambda d, e, n, m: e + d.clamp(min=1).double().log() / math.log(m / e) * (n - e)),
        _wide(lambda d, e, n, m: e + (d.clamp(min=1).double() / e).log() / math.log(m) * (n - e)),
        _wide(lambda d, e, n, m: e + _beyond(d, e).log() / math.log(m - e) * (n - e)),
        _wide(lambda d, e, n, m: e + _beyond(d + 1, e).log() / math.log(m / e) * (n - e)),
        _wide(lambda d, e, n, m: e + _beyond(d + 1, e).log() / math.log(m - e + 1) * (n - e)),
    ),
    of(
        "no quotient of logarithms",
        "The logarithm is not divided by that of max_distance over the exact ones: max_distance "
        "should be where the buckets end.",
        _wide(lambda d, e, n, m: e + (d.clamp(min=1).double() / e).log() * (n - e)),
        _wide(lambda d, e, n, m: e + (d.clamp(min=1).double() / e).log2()),
        _wide(lambda d, e, n, m: e + (d.clamp(min=1).double() / e).log()),
        _wide(lambda d, e, n, m: e + (d.clamp(min=1).double() / e).log() / math.log(m / e)),
        _wide(
            lambda d, e, n, m: e + (d.clamp(min=1).double() / e).log2() / math.log(m / e) * (n - e)
        ),
    ),
    of(
        "max_distance halved or doubled",
        "The wide buckets end at another distance than max_distance, also where there are two "
        "directions.",
        lambda s, n, m, both: build()(s, n, 2 * m, both),
        lambda s, n, m, both: build()(s, n, m // 2 if both else m, both),
        lambda s, n, m, both: build()(s, n, max(m // 2, n // 2 + 1), both),
    ),
    of(
        "not clamped to the last bucket",
        "Distances beyond max_distance fall behind the last bucket, or back into another one. "
        "Which bucket do all of them share?",
        build(last=lambda buckets, given: 10**9),
        build(last=lambda buckets, given: buckets),
        lambda s, n, m, both: build()(s, n, m, both) * (s.abs() < m),
    ),
    of(
        "clamped at another bucket",
        "The last bucket of a direction is one less than their number, halved for two directions.",
        build(last=lambda buckets, given: buckets - 2),
        build(last=lambda buckets, given: given - 1),
        lambda s, n, m, both: build(last=lambda buckets, given: 10**9)(s, n, m, both).clamp(
            max=n - 1
        ),
    ),
    of(
        "max_distance ignored",
        "Every max_distance gives the same buckets. At which distance should the wide ones end?",
        lambda s, n, m, both: build()(s, n, 128, both),
        _wide(lambda d, e, n, m: logarithmic(d, e, n, 8 * e)),
    ),
    of(
        "num_buckets ignored",
        "Every number of buckets gives the same ones. Where is the argument used?",
        lambda s, n, m, both: build()(s, 32, m, both),
    ),
    of(
        "the ends multiplied by all buckets",
        "The logarithm is spread over all buckets of a direction, though half of them are exact.",
        _wide(lambda d, e, n, m: e + (logarithmic(d, e, n, m) - e) * n / (n - e)),
    ),
)
