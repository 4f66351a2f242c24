"""The count of additive scoring with exchangeable parts."""

from typing import Any

from course_utils.checking.exercise import Function, Misconception
from course_utils.measure.additive_flops import additive_flops


def build(
    pair: Any = lambda d_a: 4 * d_a,
    project: Any = lambda d_in, d_a: 2 * d_in * d_a,
    pairs: Any = lambda num_queries, num_keys: num_queries * num_keys,
    once: Any = lambda num_queries, num_keys: (num_queries, num_keys),
    again: Any = lambda num_queries, num_keys: (num_queries * num_keys,) * 2,
    precomputes: Any = bool,
    more: Any = lambda num_queries, num_keys, d_q, d_k, d_a: 0,
    finish: Any = lambda total: total,
) -> Function:
    """Return a count with some of its parts exchanged.

    Args:
        pair: What a pair costs after the projections.
        project: What a projection costs.
        pairs: How many pairs there are.
        once: How often queries and keys are projected with precompute.
        again: How often queries and keys are projected without.
        precomputes: What is made of the flag.
        more: What is added.
        finish: What is made of the total.
    """

    def wrong(
        num_queries: int, num_keys: int, d_q: int, d_k: int, d_a: int, precompute: bool
    ) -> Any:
        times = (once if precomputes(precompute) else again)(num_queries, num_keys)
        projections = times[0] * project(d_q, d_a) + times[1] * project(d_k, d_a)
        total = projections + pairs(num_queries, num_keys) * pair(d_a)
        return finish(total + more(num_queries, num_keys, d_q, d_k, d_a))

    return wrong


def mistake(
    name: str, wrong: Function, says: str, also: tuple[Function, ...] = ()
) -> Misconception:
    """Return a misconception whose versions may also go wrong with or without precompute alone."""
    versions = tuple(v for version in (wrong, *also) for v in _branches(version) if _differs(v))
    return Misconception(name, versions[0], says, also=versions[1:])


def _branches(wrong: Function) -> tuple[Function, ...]:
    def with_it(*given: Any) -> Any:
        return (wrong if given[-1] else additive_flops)(*given)

    def without_it(*given: Any) -> Any:
        return (additive_flops if given[-1] else wrong)(*given)

    return wrong, with_it, without_it


def _differs(version: Function) -> bool:
    sizes = (3, 5, 2, 7, 11)
    for flag in (True, False):
        got = version(*sizes, flag)
        if type(got) is not int or got != additive_flops(*sizes, flag):
            return True
    return False
