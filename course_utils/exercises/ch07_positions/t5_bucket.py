"""Exercise: the bucket of a distance, as T5 has it."""

from dataclasses import replace
from typing import Any

import torch
from course_utils.checking.exercise import Law, case, exercise
from course_utils.checking.inputs import Make
from course_utils.checking.mistakes import mistake
from course_utils.exercises.shared.kinds import left_in, other_kinds, overwritten, writing
from course_utils.positions import t5_bucket
from torch import Tensor

RIGHT = """
def t5_bucket(relative_position, num_buckets, max_distance, bidirectional):
    steps = relative_position
    size = num_buckets // 2 if bidirectional else num_buckets
    is_ahead = steps > 0
    distance = steps.abs() if bidirectional else (-steps).clamp(min=0)
    exact = size // 2
    is_near = distance < exact
    end = max_distance
    ratio = distance.clamp(min=1).double() / exact
    share = ratio.log() / math.log(end / exact)
    wide = exact + share * (size - exact)
    whole = (wide + 1e-9).floor()
    last = size - 1
    far = whole.clamp(max=last).long()
    found = torch.where(is_near, distance, far)
    start = size
    bucket = found + is_ahead.long() * start if bidirectional else found
    return bucket
"""

_TWO_WAYS = "bucket = found + is_ahead.long() * start"
_BEYOND = "ratio = (distance - exact{one}).clamp(min=1).double()\nshare = ratio.log() / math.log({end})"

_WHOLE = (
    "The numbers are right, but they are not long. Buckets are indices, and `relative_position` is long: which line "
    "makes another kind of number of them?"
)
_WHOLE_NUMBERS = tuple(f"return bucket.{kind}()" for kind in ("float", "double", "int", "half"))
DIRECTION = (
    mistake("query less key", "The two directions are exchanged: relative_position is key minus query, so keys before "
            "the query have negative ones.", "steps = -relative_position"),
    mistake("the upper half for keys before the query", "With two directions the upper half of the buckets is for keys "
            "after the query.", "is_ahead = steps < 0"),
    mistake("distance 0 in the upper half", "The query's own key is in the upper half. Which bucket does distance 0 "
            "belong to?",
            "is_ahead = steps >= 0", "is_ahead = steps <= 0"),
    mistake("directions told apart where there is only one", "Without `bidirectional` all buckets are for the past: "
            "none is kept for later keys.",
            "size = num_buckets // 2", f"size = num_buckets // 2\ndistance = steps.abs()\n{_TWO_WAYS}",
            f"distance = steps.abs()\n{_TWO_WAYS}"),
    mistake("buckets not halved for two directions", "With two directions each has only half of the buckets, so far "
            "distances fall outside.", "size = num_buckets", "size = num_buckets\nstart = num_buckets // 2"),
    mistake("the upper half in the wrong place", "Keys before the query are right, keys after it begin at the wrong "
            "bucket. Which is the first bucket of the upper half?", "start = num_buckets", "start = size - 1",
            "start = size + 1", "start = exact", "start = max_distance"),
    mistake("later keys counted from 0", "The nearest later key should be at distance 1, and here it is at 0. Is 1 "
            "taken away from the distances of the later keys?",
            "distance = steps.abs() - is_ahead.long() if bidirectional else (-steps).clamp(min=0)"),
    mistake("the two halves woven into each other", "Keys before the query have the even buckets and later ones the "
            "odd ones, or the other way round. Which half do the later keys use?",
            "bucket = 2 * found + is_ahead.long() if bidirectional else found",
            "bucket = 2 * found + 1 - is_ahead.long() if bidirectional else found"),
    mistake("later keys in another bucket than 0",
            "Without `bidirectional` keys after the query have a bucket of their "
            "own. They share one with a key at which distance?",
            *(f"bucket = found + is_ahead.long() * start if bidirectional else torch.where(is_ahead, {other}, found)"
              for other in ("-1", "num_buckets - 1", "num_buckets", "exact"))),
    mistake("buckets halved once more", "Each direction has half of the buckets that it should have: they were halved "
            "once too often.", "size = num_buckets // 4 if bidirectional else num_buckets // 2"),
    mistake("no direction at all", "Keys before and after the query share buckets although `bidirectional` is True.",
            "is_ahead = torch.zeros_like(steps)", "size = num_buckets\ndistance = steps.abs()\nbucket = found",
            "size = num_buckets\ndistance = (-steps).clamp(min=0)\nbucket = found", "steps = relative_position.abs()"),
    mistake("`bidirectional` the wrong way round", "With `bidirectional` only the past is told apart, and without it "
            "both directions are.", "bidirectional = not bidirectional\nsteps = relative_position"),
    mistake("later keys folded onto the past", "Without `bidirectional` keys after the query all belong to bucket 0. "
            "Here their distance lost its sign.", "distance = steps.abs()"),
    mistake(
        "only later keys counted",
        "Without `bidirectional` the past is in bucket 0, and the future has the others.",
        "distance = steps.abs() if bidirectional else steps.clamp(min=0)",
    ),
    mistake("distances off by one", "All distances are one too large or too small before they are put into buckets. "
            "What is the distance of the query's own "
            "key?", "steps = relative_position - 1", "steps = relative_position + 1",
            "distance = (steps.abs() - 1).clamp(min=0) if bidirectional else (-steps - 1).clamp(min=0)"),
    mistake("negative buckets", "A bucket is negative, or the numbers go on growing: the sign of the distance was not "
            "removed first.",
            "distance = steps", "distance = -steps", "distance = steps.abs() if bidirectional else -steps"),
)

_LOG_OF_16 = "ratio = distance.clamp(min=1).double() / 16\nshare = ratio.log() / math.log(end / 16)"

NEAR = (
    mistake("16 hard-coded", "The 16 in the printed formula is half of 32 buckets, when there is one direction. What "
            "is it for another number of buckets, or where each direction has only half of them?",
            "exact = 16", "exact = num_buckets // 2", f"{_LOG_OF_16}\nwide = 16 + share * 16",
            f"{_LOG_OF_16}\nwide = exact + share * 16", f"{_LOG_OF_16}\nwide = 16 + share * (size - 16)", _LOG_OF_16,
            "wide = 16 + share * 16", "wide = exact + share * 16", f"exact = 16\n{_LOG_OF_16}\nwide = 16 + share * 16",
            "exact = 16\nlast = 31\nwide = 16 + share * 16", f"{_LOG_OF_16}\nwide = 16 + share * 16\nlast = 31",
            "is_near = distance < 16", "ratio = distance.clamp(min=1).double() / 16\nshare = ratio.log() / math.log(8)",
            "ratio = distance.clamp(min=1).double() / 16\nshare = ratio.log() / math.log(8)\nwide = 16 + share * 16",
            "ratio = distance.clamp(min=1).double() / 16\nshare = ratio.log() / math.log(8)\nwide = 16 + share * 16\n"
            "last = 31", *(f"{start}\nwide = 16 + (share * 16).trunc()\n{last}" for start in (
                _LOG_OF_16, "ratio = distance.clamp(min=1).double() / 16\nshare = ratio.log() / math.log(8)")
                for last in ("last = size - 1", "last = 31"))),
    mistake("one exact bucket more or less", "The change from exact to wide buckets comes one distance too far or too "
            "near. It is at half of a direction's buckets.", "exact = size // 2 - 1", "exact = size // 2 + 1"),
    mistake("another share of exact buckets", "The change from exact to wide buckets is in the wrong place. What "
            "fraction of a direction's buckets is exact?",
            "exact = max(size // 4, 1)", "exact = 3 * size // 4", "exact = max(size // 3, 1)", "exact = 1"),
    mistake("all distances exact", "Far distances all fall into the last bucket: there is no logarithm.",
            "wide = distance.double()"),
    mistake("no exact buckets", "Near distances share buckets: the logarithm was used for all of them.",
            "is_near = distance < 0", "is_near = distance < 1"),
    mistake(
        "near and far exchanged",
        "Near distances got the logarithm, and far ones were taken as they are. Which branch is which?",
        "is_near = distance >= exact",
    ),
)

FAR = (
    mistake("log range off by one", "The wide buckets are spread over one too few or too many. Between the exact ones "
            "and max_distance there are exactly as many as are left.", "wide = exact + share * (size - 1 - exact)",
            "wide = exact + share * (size + 1 - exact)", "wide = exact + share * exact",
            "ratio = (distance + 1).double() / exact", "wide = exact + share * (size - exact) + 1",
            "wide = exact + share * (size - exact) - 1", "end = max_distance + 1", "end = max_distance - 1"),
    mistake("rounded instead of cut", "The logarithm is rounded to the nearest bucket, or up. T5 rounds down.",
            "whole = wide.round()", "whole = wide.ceil()"),
    mistake("a line instead of a logarithm", "The wide buckets are all equally wide. They should grow: what makes "
            "equal steps of equal ratios?", "share = (distance - exact).double() / (end - exact)",
            "wide = distance.double() / end * size", "share = ratio.sqrt() / math.sqrt(end / exact)"),
    mistake("cut to a whole number before it is multiplied",
            "All wide distances fall into very few buckets: the quotient "
            "was cut to a whole number, and then multiplied by the number of wide buckets. In which order do the two "
            "belong?", "share = (ratio.log() / math.log(end / exact)).floor()", "share = ratio.log().floor()",
            "share = ratio.log().floor() / math.log(end / exact)"),
    mistake("the number of exact buckets not added", "The wide buckets begin at 0 again. Where does the first of them "
            "belong?", "wide = share * (size - exact)"),
    mistake("logarithm of the distance itself", "The logarithm is that of the distance, not of its ratio to the last "
            "exact one: at the first wide distance it should be 0.",
            "share = (ratio * exact).log() / math.log(end)", "share = (ratio * exact).log() / math.log(end / exact)",
            "share = ratio.log() / math.log(end)", _BEYOND.format(one="", end="end - exact"),
            _BEYOND.format(one=" + 1", end="end / exact"), _BEYOND.format(one=" + 1", end="end - exact + 1")),
    mistake("no quotient of logarithms", "The logarithm is not divided by that of max_distance over the exact ones: "
            "max_distance should be where the buckets end.", "share = ratio.log()", "wide = exact + ratio.log2()",
            "wide = exact + ratio.log()", "wide = exact + share"),
    mistake("two kinds of logarithm", "The quotient is one of logarithms of different kinds, so max_distance is not "
            "where the buckets end. A quotient of logarithms does not depend on their base, if it is one base.",
            "share = ratio.log2() / math.log(end / exact)", "share = ratio.log10() / math.log(end / exact)",
            "share = ratio.log() / math.log2(end / exact)", "share = ratio.log() / math.log10(end / exact)"),
    mistake("max_distance halved or doubled", "The wide buckets end at a distance other than max_distance. It is not "
            "halved for two directions either.",
            "end = 2 * max_distance", "end = max_distance // 2 if bidirectional else max_distance",
            "end = max(max_distance // 2, num_buckets // 2 + 1)"),
    mistake("not clamped to the last bucket", "Distances beyond max_distance fall beyond the last bucket, or back into "
            "another one. Which bucket do all of them share?",
            "last = 10**9", "last = size", "return bucket * (relative_position.abs() < max_distance)"),
    mistake("clamped at another bucket", "The index of a direction's last bucket is the number of its buckets less "
            "one; two directions have half of the buckets each.",
            "last = size - 2", "last = num_buckets - 1", "last = 10**9\nreturn bucket.clamp(max=num_buckets - 1)",
            "last = 10**9\nreturn bucket.clamp(max=num_buckets)"),
    mistake("distances cut too early", "Distances were clamped to the number of buckets before the logarithm, so all "
            "far ones count as near. Which number is clamped: the distance, or the bucket?",
            *(f"distance = (steps.abs() if bidirectional else (-steps).clamp(min=0)).clamp(max={most})"
              for most in ("size - 1", "size", "num_buckets - 1", "num_buckets"))),
    mistake("max_distance ignored", "Every max_distance gives the same buckets. At which distance should the wide ones "
            "end?", "end = 128", "end = 8 * exact"),
    mistake("num_buckets ignored", "Every number of buckets gives the same ones. Where is the argument used?",
            "size = 16 if bidirectional else 32"),
    mistake("the ends multiplied by all buckets", "The logarithm is spread over all buckets of a direction, though "
            "half of them are exact.", "wide = exact + share * size"),
    mistake("buckets with fractions", "A bucket is the number of a row in a table of biases, and these have fractions. "
            "What makes whole numbers of the logarithms?", "far = wide.clamp(max=last)",
            "far = wide.clamp(max=last).float()"),
    mistake("other axes", "The buckets are right, but they have lost their axes. The result has the shape of "
            "`relative_position`.", "return bucket.flatten()"),
    overwritten("distance = steps.abs_() if bidirectional else (-steps).clamp(min=0)",
                "kept = bucket.clone()\nsteps.abs_()\nreturn kept", *writing(t5_bucket, 0)),
    left_in("return bucket{}"),
    *(replace(one, says=_WHOLE, versions=_WHOLE_NUMBERS) if one.name == "another dtype" else one
      for one in other_kinds("bucket")),
)


def _outside(args: tuple[Any, ...], out: Tensor) -> str | None:
    wrong = ((out < 0) | (out >= args[1])).nonzero()
    if not len(wrong):
        return None
    where = tuple(int(i) for i in wrong[0])
    return f"Distance {args[0][where]} got bucket {out[where]}; there are {args[1]} buckets, from 0."


def _falls(args: tuple[Any, ...], out: Tensor) -> str | None:
    steps, buckets = args[0].flatten(), out.flatten()
    past = (steps <= 0).nonzero().flatten()
    order = past[steps[past].argsort(descending=True)]
    drop = (buckets[order].diff() < 0).nonzero()
    if not len(drop):
        return None
    near, far = order[int(drop[0])], order[int(drop[0]) + 1]
    return (
        f"Distance {int(steps[near])} is in bucket {int(buckets[near])}, and {int(steps[far])}, which is further off, "
        f"in {int(buckets[far])}."
    )


def _steps(*steps: int, buckets: int = 32, far: int = 128, both: bool = True) -> Make:
    return lambda generator: (torch.tensor(steps), buckets, far, both)


def _table(queries: int, keys: int, both: bool) -> Make:
    return lambda generator: (torch.arange(keys) - torch.arange(queries).unsqueeze(-1), 8, 20, both)


def _every(reach: int, buckets: int, far: int, both: bool, *left_out: int) -> Make:
    """Make all distances up to reach, without those where rounding decides on the bucket."""
    steps = [s for s in range(-reach, reach + 1) if abs(s) not in left_out]
    return _steps(*steps, buckets=buckets, far=far, both=both)


EXERCISE = exercise(
    t5_bucket,
    right=RIGHT,
    asks="Return the bucket of each distance: exact for near keys, logarithmic for far ones.",
    minutes=20,
    difficulty=4,
    importance=3,
    cases=(
        case("near distances before the query", _steps(0, -1, -2, -3, -7)),
        case("distances around the first wide bucket", _steps(-7, -8, -9, -12, 7, 8, 9, 12)),
        case("near distances after the query", _steps(1, 2, 5, 7)),
        case("one direction, near by", _steps(0, -1, -4, -9, -15, both=False)),
        case("one direction, keys after the query", _steps(1, 2, 30, 500, both=False)),
        case("far distances", _steps(-20, -45, -90, -127, 20, 45, 90, 127)),
        case("beyond max_distance", _steps(-129, -400, -5000, 129, 400, 5000)),
        # Where a bucket begins at a whole distance, rounding may decide: those are left out.
        case("every distance up to 300, two directions", _every(300, 32, 128, True, 16, 32, 64)),
        case("every distance up to 300, one direction", _every(300, 32, 128, False, 32, 64)),
        case("8 buckets up to 20", _every(60, 8, 20, True)),
        case("8 buckets up to 20, one direction", _every(60, 8, 20, False)),
        case("10 buckets: 5 for each direction", _every(80, 10, 50, True)),
        case("64 buckets up to 1000, one direction", _every(1500, 64, 1000, False)),
        case("a table of 5 queries and 9 keys", _table(5, 9, True)),
        case("a table of 9 queries and 5 keys, one direction", _table(9, 5, False)),
        case("a single number", lambda generator: (torch.tensor(-3), 32, 128, True)),
    ),
    mistakes=(*DIRECTION, *NEAR, *FAR),
    laws=(
        Law("buckets are between 0 and num_buckets - 1", _outside),
        Law("further into the past, buckets never fall", _falls),
    ),
    hints=(
        "First the direction: with two of them each has half of the buckets, and keys after the query take the upper "
        "half. What remains is a distance without a sign.",
        "Without `bidirectional` every key after the query counts as distance 0.",
        "Half of a direction's buckets are exact: distance 3 is in bucket 3. Call their number e.",
        "From e on: log(distance/e) / log(max_distance/e) goes from 0 to 1. Spread that over the buckets that are "
        "left, and round it down to a whole number.",
        "`torch.where` chooses between the two; clamp the far ones to the last bucket of their direction, and keep the "
        "logarithm away from 0.",
    ),
)
