"""Counts with a flag as their last argument: a mistake may go wrong with or without it alone."""

from typing import Any

from course_utils.checking.exercise import Function, Misconception


def counted(reference: Function, sizes: tuple[int, ...], kind: type) -> Any:
    """Return a maker of misconceptions about `reference`, which takes `sizes` and a flag.

    Each version of a mistake is taken three times: as it is, with the flag only and without it
    only, as far as these differ from what is right.
    """

    def differs(version: Function) -> bool:
        given = [(version(*sizes, flag), reference(*sizes, flag)) for flag in (True, False)]
        return any(type(got) is not kind or got != want for got, want in given)

    def branches(wrong: Function) -> tuple[Function, ...]:
        def with_it(*given: Any) -> Any:
            return (wrong if given[-1] else reference)(*given)

        def without_it(*given: Any) -> Any:
            return (reference if given[-1] else wrong)(*given)

        return wrong, with_it, without_it

    def mistake(
        name: str, wrong: Function, says: str, also: tuple[Function, ...] = ()
    ) -> Misconception:
        every = (version for one in (wrong, *also) for version in branches(one))
        versions = tuple(version for version in every if differs(version))
        return Misconception(name, versions[0], says, also=versions[1:])

    return mistake
